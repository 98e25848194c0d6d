"""What names a paper: claims, figures, studies and the report, built on the laboratory beside this folder."""
