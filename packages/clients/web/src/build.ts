/** Builds the web app into `dist/web`, with compressed copies of its files. The ordinary build calls this at its end. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));
const outDir = fileURLToPath(new URL("../../../../dist/web", import.meta.url));

export async function buildWeb(): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    base: "/",
    // JSX needs no plugin: Preact is a JSX runtime.
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      // The content security policy of the page allows no data: URL and no inline script.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
    worker: { format: "es" },
  });
  await compress();
}

/** The server picks a copy by the request's Accept-Encoding, so that it never compresses anything itself. */
async function compress(): Promise<void> {
  const names = await readdir(outDir, { recursive: true });
  await Promise.all(
    names.map(async (name) => {
      const path = join(outDir, name);
      if ((await stat(path)).isDirectory()) return;
      const content = await readFile(path);
      const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
      await writeFile(`${path}.br`, await promisify(brotliCompress)(content, quality));
      await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
    }),
  );
}
