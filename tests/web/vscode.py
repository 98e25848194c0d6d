"""VS Code's widget manager in a page of a browser, with a real kernel. This is not VS Code, which no test can start.

Real: the manager that VS Code's Jupyter extension puts into a notebook (npm's @vscode/jupyter-ipywidgets8), the kernel,
the class of the connection to it, and RequireJS, which fetches anywidget's own file. Imitated: the frame of a notebook,
with its sandbox, its dark theme, its white outputs and its ear for shortcuts. Not here: the editor, and the extension,
which finds anywidget's file (or asks before it fetches it from the network) and passes the messages on.

    npm install --prefix FOLDER @vscode/jupyter-ipywidgets8 @jupyterlab/services requirejs esbuild

TOKENFLOCK_VSCODE_WIDGETS names the folder.
"""

import contextlib
import json
import os
import subprocess
from pathlib import Path

import notebooks

from waiting import LONG_S

WANTED = ("@vscode/jupyter-ipywidgets8", "@jupyterlab/services", "requirejs", "esbuild")
MODULES = Path(os.environ.get("TOKENFLOCK_VSCODE_WIDGETS") or ".", "node_modules").resolve()
#: What the frame of a notebook may do in VS Code. It has no other policy, unless the user turns one on.
SANDBOX = "sandbox allow-same-origin allow-pointer-lock allow-scripts allow-downloads allow-forms"
PAGE = """\
<!doctype html>
<meta charset="utf-8">
<link rel="icon" href="data:,">
<style>
  body { background: #1f1f1f; }
  .cell-output-ipywidget-background { background: white !important; margin: 8px 0; }
</style>
<body class="vscode-dark" data-vscode-theme-kind="vscode-dark">
<script src="requirejs/require.js"></script>
<script type="module" src="page.js"></script>
"""
SCRIPT = """\
import { activate } from "/static/@vscode/jupyter-ipywidgets8/dist/ipywidgets.js";
import { KernelManager, ServerConnection } from "@jupyterlab/services";

// VS Code takes the keys that get this far for its own.
window.heard = [];
window.addEventListener("keydown", (event) => window.heard.push(event.key));

const scripts = {
  widgetsRegisteredInRequireJs: new Set(),
  async loadWidgetScript(name) {
    requirejs.config({ paths: { [name]: `/static/${name}/index` } });
    this.widgetsRegisteredInRequireJs.add(name);
  },
  successHandler() {},
  errorHandler: (...said) => console.error("not loaded:", ...said),
};
activate();
window.vscIPyWidgets8.load();
const serverSettings = ServerConnection.makeSettings({ baseUrl: location.origin });
const kernel = await new KernelManager({ serverSettings }).startNew({ name: "python3" });
const manager = new window.vscIPyWidgets.WidgetManager(kernel, null, scripts, () => {});
for (const code of CELLS) {
  const output = document.body.appendChild(document.createElement("div"));
  output.className = "cell-output-ipywidget-background";
  const run = kernel.requestExecute({ code });
  run.onIOPub = async ({ content }) => {
    if (content.traceback) console.error(content.traceback.join("\\n"));
    const shown = content.data?.["application/vnd.jupyter.widget-view+json"];
    if (!shown) return;
    const view = await manager.create_view(await manager.get_model(shown.model_id), { el: output });
    await manager.display_view(shown, view, { node: output });
  };
  await run.done;
}
"""


def lacks():
    """What is to be installed, in words; nothing if all is there."""
    if not (notebooks.has("jupyter_server") and notebooks.has("ipykernel")):
        return "no Jupyter server: pip install jupyter_server ipykernel anywidget"
    if not all((MODULES / name).is_dir() for name in WANTED):
        names = " ".join(WANTED)
        return f"no widget manager of VS Code: npm install {names}, and name the folder in TOKENFLOCK_VSCODE_WIDGETS"
    return ""


@contextlib.contextmanager
def vscode(folder):
    """The address of the page; it runs the cells when it is opened."""
    (folder / "page.html").write_text(PAGE)
    cells = json.dumps([notebooks.RECORDED + "shown", notebooks.LIVE + "live"])
    (folder / "source.js").write_text(f"const CELLS = {cells};\n{SCRIPT}")
    bundle = [MODULES / ".bin/esbuild", "source.js", "--bundle", "--format=esm", "--outfile=page.js"]
    bundle += ["--external:/static/*", "--log-level=error"]
    subprocess.run(bundle, cwd=folder, env={**os.environ, "NODE_PATH": str(MODULES)}, check=True, timeout=LONG_S)
    prefix = subprocess.check_output(
        [notebooks.PYTHON, "-c", "import sys; print(sys.prefix, end='')"], text=True, timeout=LONG_S
    )
    extensions = Path(prefix, "share/jupyter/nbextensions")  # where VS Code looks for the files of widgets
    number = notebooks.port()
    settings = {
        "ip": "127.0.0.1",
        "port": number,
        "port_retries": 0,
        "open_browser": False,
        "allow_root": True,
        "disable_check_xsrf": True,
        "extra_static_paths": [str(path) for path in (folder, MODULES, extensions)],
        "tornado_settings": {"headers": {"Content-Security-Policy": SANDBOX}},
    }
    config = {"ServerApp": settings, "IdentityProvider": {"token": ""}}
    (folder / "config").mkdir()
    (folder / "config/jupyter_server_config.json").write_text(json.dumps(config))
    with notebooks.serving(["jupyter_server"], f"http://127.0.0.1:{number}/static/page.html", folder) as address:
        yield address
