/**
 * Makes the screenshots of the web app in a project of its own, with agents that need no model.
 *
 *   node scripts/web-screenshots.ts [--out docs/images/web] [--only <view>]… [--scale 2]
 */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { createClient } from "@aegis/client/client.ts";
import type { DaemonFile } from "@aegis/lib/daemon-file.ts";
import { launchBrowser } from "../test/helpers/browser-launch.ts";
import { buildIfStale } from "./build-if-stale.ts";
import { stageFiles, stageTeam } from "./web-stage.ts";
import { startStageModel } from "./web-stage-model.ts";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

const { values: options } = parseArgs({
  options: {
    out: { type: "string", default: "docs/images/web" },
    only: { type: "string", multiple: true },
    scale: { type: "string", default: "1" },
  },
});

buildIfStale();
await using scope = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "aegis-shots-"));
scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
const [root, home] = [join(folder, "shop"), join(folder, "home")];
const model = await startStageModel();
scope.defer(model.stop);
for (const [path, text] of Object.entries(stageFiles(model.url))) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
await mkdir(home);
const env = { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, LANG: "C.UTF-8" };
const aegis = (...args: string[]) => promisify(execFile)(process.execPath, [cli, ...args], { cwd: root, env });
const git = (...args: string[]) => promisify(execFile)("git", args, { cwd: root, env });
const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
await git("init", "--quiet", "--initial-branch=main");
await git("add", "src", "README.md", ".gitignore", ".aegis.yaml");
await git(...author, "commit", "--quiet", "-m", "Parse lists");
await git("switch", "--quiet", "-c", "trailing-commas");
await writeFile(join(root, "README.md"), "# Shop\n\nA shop with a small language of its own.\n");
await git(...author, "commit", "--quiet", "-am", "Say what the shop is");
await aegis("trust", "--yes");
const daemon = spawn(process.execPath, [cli, "serve"], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
scope.defer(async () => {
  const ended = new Promise((done) => daemon.once("close", done));
  daemon.kill("SIGTERM");
  await ended;
});
await new Promise<void>((up) => {
  daemon.stdout.setEncoding("utf8").on("data", (text: string) => text.includes("aegis is up") && up());
});
const file = JSON.parse(await readFile(join(root, ".aegis/state/daemon.json"), "utf8")) as DaemonFile;
const client = createClient(file);
const team = await stageTeam(client, root);

const browser = await launchBrowser();
scope.defer(() => browser.close());
const out = resolve(options.out);
await mkdir(out, { recursive: true });
for (const colorScheme of ["light", "dark"] as const) {
  for (const [size, viewport] of Object.entries(sizes)) {
    const context = await browser.newContext({
      viewport,
      colorScheme,
      locale: "en-US",
      reducedMotion: "reduce",
      deviceScaleFactor: Number(options.scale),
    });
    const page = await context.newPage();
    page.on("pageerror", (error) => process.stderr.write(`${error.message}\n`));
    await page.goto((await client.call("createWebCode")).url);
    await page.waitForSelector(".shell");
    for (const { name, place, ready, act } of team.views) {
      if (options.only !== undefined && !options.only.includes(name)) continue;
      await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
      await page.waitForSelector(ready);
      await act?.(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(out, `${name}-${size}-${colorScheme}.png`) });
    }
    await context.close();
  }
}
