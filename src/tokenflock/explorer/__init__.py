"""The explorer: watch, steer and share runs in the browser and in notebooks. `tokenflock explore` starts it.

    server       Starlette and websockets: one session for each tab        safety     who may speak to it
    session      one run of one tab, computed in slices                    messages   what may be asked, and how large
    frames       what is sent: the layout of binary packets                measures   what is charted of every frame
    prediction   the row of the atlas                                      projection from d dimensions to three
    presets      every figure and claim of the papers as a run             recipe     run.toml and Python to repeat it
    export       one HTML file with a recorded run                         widget     the same view in notebooks

The page itself is web/, bundled into static/explorer.js.
"""
