"""The command line in this process, as tests call it."""

from typer.testing import CliRunner

from tokenflock import cli


def tokenflock(*words):
    """Run it."""
    return CliRunner().invoke(cli.app, [str(word) for word in words], catch_exceptions=False)


def refused(*words):
    """What is said about bad input: one sentence on stderr, nothing on stdout, exit code 2."""
    result = tokenflock(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr
