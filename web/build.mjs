// Bundles src/ into the one ES module that the Python package carries. The banner holds a hash of everything that it is
// made from, so that a test without Node can tell whether the bundle is up to date.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const sources = ["build.mjs", "package-lock.json", ...readdirSync(`${here}src`).map((name) => `src/${name}`)].sort();
const hash = createHash("sha256");
for (const name of sources) {
  hash.update(`${name}\0`);
  hash.update(readFileSync(here + name));
}
const out = process.argv[2] ?? `${here}../src/tokenflock/explorer/static/explorer.js`;
await build({
  entryPoints: [`${here}src/main.ts`],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text" },
  banner: {
    js: `/* tokenflock explorer, made from web/ by make web; sources ${hash.digest("hex")}; three.js is (c) three.js authors, MIT */`,
  },
  outfile: out,
});
