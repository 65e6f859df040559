/**
 * Counts the source files that the daemon runs for one `aegis send` to the offline agent, from the request to the end of the
 * turn: `node scripts/walk.mjs [--wait] [--list | --functions]`. With `--wait`, also what `aegis send --wait` needs to
 * print the answer. Functions that an idle daemon runs too do not count.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../packages/clients/cli/src/main.ts", import.meta.url));
const recorder = new URL("walk/record.mjs", import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), "aegis-walk-"));
const output = join(folder, "walk.json");
const project = join(folder, "project");

function aegis(...args) {
  const env = {
    PATH: process.env.PATH,
    HOME: join(folder, "home"),
    NODE_OPTIONS: `--import ${recorder}`,
    AEGIS_WALK_OUTPUT: output,
  };
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    cwd: project,
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`aegis ${args.join(" ")} failed: ${stderr}${stdout}`);
  return stdout;
}

/** Longer than two rounds of the checks that a daemon repeats. */
const idleMs = 5_000;

/** What the daemon runs during `action`. */
async function recorded(pid, action) {
  process.kill(pid, "SIGUSR2");
  await written((text) => text === "recording");
  await action();
  process.kill(pid, "SIGUSR2");
  await written((text) => text.startsWith("["));
  return JSON.parse(readFileSync(output, "utf8"));
}

function functionsOf(ran) {
  return ran.flatMap(({ file, functions }) => functions.map((one) => `${file} ${one}`));
}

/** Recorded as `<name>@<offset>`. */
function nameOf(recordedFunction) {
  return recordedFunction.startsWith("@") ? `(anonymous${recordedFunction})` : recordedFunction.split("@")[0];
}

async function written(isDone) {
  while (!existsSync(output) || !isDone(readFileSync(output, "utf8"))) await delay(20);
}

/** Read from the transcripts, so that the daemon does nothing for it. */
function turnsEnded() {
  const transcripts = join(project, ".aegis", "state", "sessions");
  const texts = readdirSync(transcripts).map((name) => readFileSync(join(transcripts, name), "utf8"));
  return texts.join("").split('"type":"turn.ended"').length;
}

try {
  spawnSync("mkdir", ["-p", project, join(folder, "home")]);
  // As most projects: Aegis then records what turns change.
  const git = (...argv) => spawnSync("git", ["-C", project, "-c", "user.name=a", "-c", "user.email=a@b", ...argv]);
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  writeFileSync(join(project, ".aegis.yaml"), "default_agent: dev\nagents:\n  dev: { harness: scripted }\n");
  aegis("up");
  const { pid } = JSON.parse(aegis("status", "--json")).daemon ?? JSON.parse(aegis("status", "--json"));
  aegis("spawn", "--handle", "calm-boole");
  aegis("send", "calm-boole", "--wait", "hello");
  const idle = new Set(functionsOf(await recorded(pid, () => delay(idleMs))));
  const before = turnsEnded();
  const wait = process.argv.includes("--wait") ? ["--wait"] : [];
  const sent = await recorded(pid, async () => {
    aegis("send", "calm-boole", ...wait, "hello again");
    while (turnsEnded() === before) await delay(20);
  });
  const ran = sent
    .map(({ file, functions }) => ({ file, functions: functions.filter((one) => !idle.has(`${file} ${one}`)) }))
    .filter(({ functions }) => functions.length > 0);
  const functions = ran.reduce((sum, one) => sum + one.functions.length, 0);
  process.stdout.write(`aegis send: ${ran.length} files, ${functions} functions in the daemon\n`);
  const withNames = process.argv.includes("--functions");
  if (withNames || process.argv.includes("--list"))
    for (const { file, functions } of ran.sort((a, b) => a.file.localeCompare(b.file))) {
      const names = withNames ? `  ${functions.map(nameOf).join(" ")}` : "";
      process.stdout.write(`${String(functions.length).padStart(4)}  ${file}${names}\n`);
    }
} finally {
  spawnSync(process.execPath, [cli, "down", "--force"], {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: join(folder, "home") },
  });
  rmSync(folder, { recursive: true, force: true });
}
