"""The explorer: watch, steer and share runs in the browser and in notebooks. `tokenflock explore` starts it.

    server       its address, its start                                    safety     who may speak to it
    application  Starlette and websockets: one session for each tab        tab        what is sent to one, and when
    session      one run of one tab, computed in slices                    messages   what may be asked, and how large
    frames       what is sent: the layout of binary packets                measures   what is charted of every frame
    began        what is told of a run before its first frame              schedule   a run and the changes on its way
    assets       the files of the page                                     recording  a saved run for the page
    prediction   the row of the atlas                                      projection from d dimensions to three
    presets      every figure and claim of the papers as a run             recipe     run.toml and Python to repeat it
    export       one HTML file with a recorded run                         widget     the same view in notebooks

The page itself is web/, bundled into static/explorer.js.
"""
