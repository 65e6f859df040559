/** What the doctor looks at. */
import { access, chmod, constants, rm, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Client, createClient } from "../../client/client.ts";
import type { Status } from "../../contract/api.ts";
import { type DaemonFileState, daemonFilePath, inspectDaemonFile, stateDir } from "../../lib/daemon-file.ts";
import { isErrno } from "../../lib/files.ts";
import { createLedger } from "../../lib/process/ledger.ts";
import { systemProcessTable } from "../../lib/process/table.ts";
import { packageVersion } from "../../lib/version.ts";
import type { CliContext } from "../context.ts";
import { diagnosticLine } from "../format/agent-table.ts";
import { createStyle } from "../format/style.ts";
import { bytes, plural } from "../format/text.ts";
import { relativeTime } from "../format/time.ts";

export type Finding = {
  /** `none`: not there, and not needed. */
  level: "ok" | "none" | "warn" | "fail";
  detail: string;
  /** What to do about it. */
  fix: string | null;
  /** Repairs it and says what was done. */
  repair?: () => Promise<string>;
};

export type Check = { name: string; run(): Promise<Finding[]> };

const oldestNode = 24;
const answerMs = 5_000;
const probeMs = 20_000;
/** More would bury the rest. */
const mostDiagnostics = 10;
const fewBytes = 500e6;
const veryFewBytes = 50e6;
/** No release of this software is older than this. */
const earliestClock = Date.UTC(2025, 0, 1);

export function createChecks(root: string, env: CliContext["env"]): Check[] {
  const project = { root, env, state: stateDir(root) };
  return [
    { name: "node", run: async () => [checkNode(process.versions.node)] },
    { name: "clock", run: async () => [checkClock(Date.now())] },
    { name: "project", run: () => checkFolder(root) },
    { name: "state", run: () => checkState(project.state) },
    { name: "disk", run: () => checkDisk(root) },
    { name: "config", run: () => checkConfig(project) },
    { name: "trust", run: () => checkTrust(project) },
    { name: "daemon", run: () => checkDaemon(project) },
    { name: "port", run: () => checkPort(project) },
    { name: "store", run: () => checkStore(project) },
    { name: "processes", run: () => checkProcesses(project) },
    { name: "agents", run: () => checkAgents(project) },
    { name: "harness", run: () => checkHarnesses(project) },
  ];
}

type Project = { root: string; env: CliContext["env"]; state: string };

const ok = (detail: string): Finding => ({ level: "ok", detail, fix: null });
const warn = (detail: string, fix: string): Finding => ({ level: "warn", detail, fix });
const fail = (detail: string, fix: string): Finding => ({ level: "fail", detail, fix });

export function checkNode(version: string): Finding {
  if (Number.parseInt(version, 10) >= oldestNode) return ok(`Node ${version}`);
  return fail(`Node ${version} is too old`, `install Node ${oldestNode} or newer`);
}

export function checkClock(now: number): Finding {
  const date = new Date(now).toISOString().slice(0, 10);
  if (now >= earliestClock) return ok(`today is ${date}`);
  return fail(`the clock says ${date}`, "set the machine's clock: sessions and schedules go by it");
}

async function checkFolder(root: string): Promise<Finding[]> {
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
    return [ok(root)];
  } catch {
    return [fail(`${root} cannot be read and written`, "run Aegis as the owner of the folder, or change its rights")];
  }
}

async function checkState(path: string): Promise<Finding[]> {
  try {
    const found = await stat(path);
    const mode = found.mode & 0o777;
    if (!found.isDirectory()) return [fail(`${path} is not a folder`, "move it away")];
    if ((mode & 0o077) === 0) return [ok(`${path} is private`)];
    const repair = async () => {
      await chmod(path, 0o700);
      return `${path} is private now`;
    };
    const detail = `${path} is open to others (mode ${mode.toString(8)}): it holds tokens and transcripts`;
    return [{ ...warn(detail, `chmod 700 ${path}, or aegis doctor --fix`), repair }];
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [ok("nothing has run here yet")];
    throw error;
  }
}

async function checkDisk(root: string): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(root);
  const free = bavail * bsize;
  if (free < veryFewBytes) return [fail(`${bytes(free)} free`, "make room: nothing can be stored without")];
  return [free < fewBytes ? warn(`${bytes(free)} free`, "make room soon") : ok(`${bytes(free)} free`)];
}

async function checkConfig({ root, env }: Project): Promise<Finding[]> {
  const checkup = await import("../../daemon/checkup.ts");
  const { files, problems } = await checkup.checkConfig(root, env);
  if (problems.length > 0) return problems.map((problem) => fail(problem, "edit the file"));
  return [ok(files.length === 0 ? "no config file; agents are found by themselves" : plural(files.length, "file"))];
}

async function checkTrust({ root, env }: Project): Promise<Finding[]> {
  const checkup = await import("../../daemon/checkup.ts");
  // What the files would run cannot be told while they are wrong, which is told elsewhere.
  if ((await checkup.checkConfig(root, env)).address === null) return [];
  const { listTrust } = await import("../../daemon/trust/agree.ts");
  const judged = await listTrust({ root, env, harnesses: checkup.harnessNames(root, env) });
  const open = judged.flatMap(({ item, verdict }) => (verdict.allowed ? [] : [{ item, verdict }]));
  if (open.length === 0) return [ok(judged.length === 0 ? "nothing here runs by itself" : "all that runs is trusted")];
  return open.map(({ item, verdict }) =>
    warn(`${item.kind} ${item.name} is untrusted, and has no effect: ${verdict.message}`, verdict.fix),
  );
}

async function checkDaemon({ root }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  if (found.state === "none") return [ok("not running; the first command that needs it starts it")];
  if (found.state === "live") return [await checkAnswer(found.file)];
  const path = daemonFilePath(root);
  const repair = async () => {
    // Asked again: a daemon may have come up in the meantime.
    const now = await inspectDaemonFile(root);
    if (now.state === "live") return "a daemon has come up";
    await rm(path, { force: true });
    return `removed ${path}`;
  };
  const detail = found.state === "stale" ? `the last one (pid ${found.file.pid}) did not stop cleanly` : found.problem;
  return [{ ...warn(detail, "harmless; aegis up replaces the file, aegis doctor --fix removes it"), repair }];
}

async function checkAnswer(file: LiveFile): Promise<Finding> {
  const status = await askStatus(file);
  if (status === null) {
    return fail(`pid ${file.pid} is alive but does not answer at ${file.url}`, "aegis down --force, then aegis up");
  }
  const own = packageVersion();
  if (status.version !== own) {
    return warn(`version ${status.version} runs, this command is ${own}`, "restart it: aegis down && aegis up");
  }
  const [problem] = status.config_problems;
  if (problem !== undefined) {
    return warn(`it goes on with the settings it had: ${problem}`, "edit the file; the daemon notices by itself");
  }
  return ok(`version ${own} at ${status.url}, started ${relativeTime(status.started_at, Date.now())}`);
}

/** A daemon that is to listen at a certain port cannot start while another program has it. */
async function checkPort({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  if (found.state === "live") return [ok(`${new URL(found.file.url).port}, in use by the daemon`)];
  const checkup = await import("../../daemon/checkup.ts");
  const { address } = await checkup.checkConfig(root, env);
  if (address === null) return [warn("unknown while the configuration is wrong", "edit the configuration")];
  const { bind, port } = address;
  const refusal = await tryToListen(bind, port);
  if (refusal === null) return [ok(port === 0 ? "any free one" : `${port} is free`)];
  return [fail(`${bind} port ${port}: ${refusal}`, "end the program that has it, or set server.port to 0")];
}

function tryToListen(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(error.message));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

async function checkStore({ root }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  const status = found.state === "live" ? await askStatus(found.file) : null;
  if (status !== null && !status.store.writable) {
    return [fail(`${status.store.path} cannot be written`, "free the disk or its rights, then aegis down && aegis up")];
  }
  if (status === null && found.state === "live")
    return [warn("not looked at while a daemon that does not answer may use it", "aegis down --force")];
  const checkup = await import("../../daemon/checkup.ts");
  const finding = await checkup.checkStore(root);
  if (finding.state === "damaged") {
    return [
      fail(
        `the database is damaged: ${finding.reason}`,
        "aegis up sets it aside and begins anew; restore a backup first if you have one",
      ),
    ];
  }
  if (finding.state !== "ours") return [ok("no database yet")];
  return [
    ok(status === null ? "the database is sound" : `the database is sound, ${bytes(status.store.bytes)}, in use`),
  ];
}

async function checkProcesses({ root, state }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  const table = systemProcessTable();
  const alive = createLedger(join(state, "processes.jsonl"))
    .entries()
    .filter((entry) => entry.start !== null && table.get(entry.pid)?.start === entry.start);
  if (found.state === "live") return [ok(`${plural(alive.length, "process", "processes")} of the daemon`)];
  if (alive.length === 0) return [ok("none left behind")];
  const repair = async () => {
    const checkup = await import("../../daemon/checkup.ts");
    return `ended ${plural(await checkup.endLeftovers(root), "process", "processes")}`;
  };
  const names = alive.map((entry) => `${entry.command} (pid ${entry.pid})`).join(", ");
  return [{ ...warn(`left behind: ${names}`, "aegis up ends them, and so does aegis doctor --fix"), repair }];
}

async function checkAgents({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  const signal = AbortSignal.timeout(probeMs);
  const told = found.state === "live" ? await clientOf(found.file).call("listAgents", { signal }) : null;
  const checkup = await import("../../daemon/checkup.ts");
  const known = told === null ? await checkup.checkAgents(root, env) : { ...told, count: told.agents.length };
  // What is wrong with the configuration is told elsewhere.
  if (known === null) return [];
  if (known.diagnostics.length === 0) return [ok(plural(known.count, "agent"))];
  return known.diagnostics
    .slice(0, mostDiagnostics)
    .map((one) => warn(diagnosticLine(one, root, createStyle(false)), "aegis agent list tells them all"));
}

async function checkHarnesses({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root);
  const signal = AbortSignal.timeout(probeMs);
  const client = found.state === "live" ? clientOf(found.file) : null;
  const harnesses =
    client === null
      ? await (await import("../../daemon/checkup.ts")).probeHarnesses(root, env, signal)
      : (await client.call("listHarnesses", { signal })).harnesses;
  const findings = harnesses.map(({ harness, status, version, detail, fix }): Finding => {
    const text = `${harness}: ${[version, detail].filter(Boolean).join(", ")}`;
    if (status === "ready") return ok(text);
    return status === "missing" ? { level: "none", detail: text, fix } : warn(text, fix ?? "see its own documentation");
  });
  const real = harnesses.some(({ harness, status }) => status === "ready" && harness !== "scripted");
  if (!real) findings.push(warn("only the offline agent can run here", "install a harness, or set a model key"));
  return findings;
}

type LiveFile = Extract<DaemonFileState, { state: "live" }>["file"];

function clientOf(file: LiveFile): Client {
  return createClient({ url: file.url, token: file.token });
}

async function askStatus(file: LiveFile): Promise<Status | null> {
  return clientOf(file)
    .call("status", { signal: AbortSignal.timeout(answerMs) })
    .catch(() => null);
}
