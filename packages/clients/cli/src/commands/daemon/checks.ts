/** The checks of `aegis doctor`. */
import { access, chmod, constants, lstat, rm, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { daemonClient } from "@aegis/client/project/http-fetch.ts";
import type { Status } from "@aegis/contract/api.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { PluginDetail } from "@aegis/contract/plugin.ts";
import { type DaemonFileState, daemonFilePath, inspectDaemonFile, stateDir } from "@aegis/lib/daemon-file.ts";
import { exists, isErrno } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { createLedger } from "@aegis/lib/process/ledger.ts";
import { systemProcessTable } from "@aegis/lib/process/table.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { diagnosticLine } from "../../format/agent-table.ts";
import { channelWords } from "../../format/channel-state.ts";
import { createStyle } from "../../format/style.ts";
import { bytes, plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { CliContext } from "../../terminal/context.ts";
import { lossLines } from "../project/store.ts";

export type Finding = {
  /** `none`: absent and not needed. */
  level: "ok" | "none" | "warn" | "fail";
  detail: string;
  /** The action that fixes the problem. */
  fix: string | null;
  /** Repairs the problem and returns what was done. */
  repair?: () => Promise<string>;
};

export type Check = { name: string; run(): Promise<Finding[]> };

const oldestNode = 24;
const answerMs = 5_000;
const probeMs = 20_000;
/** More diagnostics would hide the other findings. */
const mostDiagnostics = 10;
const fewBytes = 500e6;
const veryFewBytes = 50e6;
/** No release of Aegis is older than this. */
const earliestClock = Date.UTC(2025, 0, 1);

export function createChecks(root: string, env: CliContext["env"]): Check[] {
  const project = { root, env, state: stateDir(root) };
  return [
    { name: "node", run: async () => [checkNode(process.versions.node)] },
    { name: "clock", run: async () => [checkClock(Date.now())] },
    { name: "project", run: () => checkFolder(root) },
    { name: "state", run: () => checkState(project) },
    { name: "disk", run: () => checkDisk(root) },
    { name: "config", run: () => checkConfig(project) },
    { name: "trust", run: () => checkTrust(project) },
    { name: "gates", run: () => checkGates(project) },
    { name: "plugins", run: () => checkPlugins(project) },
    { name: "daemon", run: () => checkDaemon(project) },
    { name: "port", run: () => checkPort(project) },
    { name: "store", run: () => checkStore(project) },
    { name: "channels", run: () => checkChannels(project) },
    { name: "processes", run: () => checkProcesses(project) },
    { name: "agents", run: () => checkAgents(project) },
    { name: "sandbox", run: () => checkConfinement(project) },
    { name: "harness", run: () => checkHarnesses(project) },
  ];
}

type Project = { root: string; env: CliContext["env"]; state: string };

const ok = (detail: string): Finding => ({ level: "ok", detail, fix: null });
const warn = (detail: string, fix: string): Finding => ({ level: "warn", detail, fix });
const fail = (detail: string, fix: string): Finding => ({ level: "fail", detail, fix });

function checkNode(version: string): Finding {
  if (Number.parseInt(version, 10) >= oldestNode) return ok(`Node ${version}`);
  return fail(`Node ${version} is too old`, `install Node ${oldestNode} or newer`);
}

function checkClock(now: number): Finding {
  const date = new Date(now).toISOString().slice(0, 10);
  if (now >= earliestClock) return ok(`today is ${date}`);
  return fail(`the clock says ${date}`, "set the machine's clock: sessions and schedules depend on it");
}

async function checkFolder(root: string): Promise<Finding[]> {
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
    return [ok(root)];
  } catch {
    return [
      fail(`${root} cannot be read and written`, "run Aegis as the owner of the folder, or change its permissions"),
    ];
  }
}

async function checkState({ root, env, state: path }: Project): Promise<Finding[]> {
  const { containedStateDir } = await import("@aegis/project/state/folder.ts");
  try {
    await containedStateDir(root);
    const found = await lstat(path);
    const mode = found.mode & 0o777;
    if (!found.isDirectory()) return [fail(`${path} is not a folder`, "move it away")];
    const foreign = await unknownState({ root, env });
    if (foreign !== null) return [foreign];
    if ((mode & 0o077) === 0) return [ok(`${path} is private and yours`)];
    const repair = async () => {
      await chmod(path, 0o700);
      return `${path} is private now`;
    };
    const detail = `${path} is open to others (mode ${mode.toString(8)}): it contains tokens and transcripts`;
    return [{ ...warn(detail, `chmod 700 ${path}, or aegis doctor --fix`), repair }];
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [ok("nothing has run here yet")];
    if (isAegisError(error)) return [fail(error.message, error.hint ?? "aegis state set-aside")];
    throw error;
  }
}

/** Null if the state belongs to the user, or there is none. */
async function unknownState({ root, env }: Pick<Project, "root" | "env">): Promise<Finding | null> {
  const { stateOwner, statePlace } = await import("@aegis/project/state/decide.ts");
  const owner = await stateOwner(await statePlace(root, env));
  if (owner.owner !== "unknown") return null;
  return fail(`the state here is not known to be yours: ${owner.message}`, "see its contents: aegis state show");
}

/** The doctor opens no unknown state and ends none of the processes it lists. */
const notLookedAt: Finding = warn("not checked, because the state is not known to be yours", "aegis state show");

async function checkDisk(root: string): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(root);
  const free = bavail * bsize;
  if (free < veryFewBytes) return [fail(`${bytes(free)} free`, "free some disk space: Aegis cannot store anything")];
  return [free < fewBytes ? warn(`${bytes(free)} free`, "free some disk space soon") : ok(`${bytes(free)} free`)];
}

async function checkConfig({ root, env }: Project): Promise<Finding[]> {
  const checkup = await import("@aegis/project/checkup.ts");
  const { files, problems } = await checkup.checkConfig(root, env);
  if (problems.length > 0) return problems.map((problem) => fail(problem, "edit the file"));
  return [ok(files.length === 0 ? "no config file; agents are detected automatically" : plural(files.length, "file"))];
}

async function checkTrust({ root, env }: Project): Promise<Finding[]> {
  const checkup = await import("@aegis/project/checkup.ts");
  // Invalid files are reported by another check, and what they would run cannot be determined.
  if ((await checkup.checkConfig(root, env)).address === null) return [];
  const { listTrust } = await import("@aegis/project/trust/agree.ts");
  const judged = await listTrust({ root, env, harnesses: checkup.harnessNames(root, env) });
  const open = judged.flatMap(({ item, verdict }) => (verdict.allowed ? [] : [{ item, verdict }]));
  if (open.length === 0)
    return [ok(judged.length === 0 ? "the files here start nothing" : "everything that runs is trusted")];
  return open.map(({ item, verdict }) =>
    warn(`${item.kind} ${item.name} is untrusted and has no effect: ${verdict.message}`, verdict.fix),
  );
}

async function checkConfinement({ root, env }: Project): Promise<Finding[]> {
  const { checkSandbox } = await import("@aegis/project/sandbox-checkup.ts");
  const { report, needed } = await checkSandbox(root, env);
  if (report.works) return [ok(`${report.name}; ${needed.length === 0 ? "no setting uses it" : needed.join(", ")}`)];
  if (needed.length === 0) return [{ level: "none", detail: `not available: ${report.cause}`, fix: report.fix }];
  return [fail(`${needed.join(", ")}: not started, because ${report.cause}`, report.fix)];
}

async function checkGates({ root, env }: Project): Promise<Finding[]> {
  const missing = (plugin: string, hooks: readonly string[], reason: string) =>
    fail(
      `gates of ${plugin} are missing, so the actions they guard are refused: ${hooks.join(", ")}: ${reason}`,
      `aegis plugin accept ${plugin}, or aegis plugin drop ${plugin}`,
    );
  const found = await inspectDaemonFile(root, homeOf(env));
  if (found.state === "live") {
    const client = daemonClient(found.file);
    const { missing_gates } = await client.call("status", { signal: AbortSignal.timeout(answerMs) });
    if (missing_gates.length > 0)
      return missing_gates.map(({ plugin, hooks, reason }) => missing(plugin, hooks, reason));
  }
  const { recordedGates } = await import("@aegis/project/plugins/gates.ts");
  const recorded = await recordedGates({ root, env });
  const gone = [];
  for (const { plugin, place, hooks } of recorded)
    if (!(await exists(place))) gone.push(missing(plugin, hooks, "its files are missing"));
  if (gone.length > 0) return gone;
  const holders = recorded.map(({ plugin }) => plugin).join(", ");
  return [ok(recorded.length === 0 ? "no plugin has gates" : `held by ${holders}`)];
}

/** The daemon knows what it loaded. Without one, the files say what would not load, and nothing of them runs. */
async function checkPlugins({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  const details = found.state === "live" ? await loadedPlugins(found.file) : await readPlugins({ root, env });
  const bad = details.flatMap(({ name, status, reason, diagnostics }): Finding[] => {
    const fix = `see: aegis plugin show ${name}`;
    if (status === "failed") {
      const [first] = diagnostics.filter(({ level }) => level === "error");
      return [fail(`the plugin ${name} is not loaded: ${reason ?? first?.message ?? "its files are wrong"}`, fix)];
    }
    const left = diagnostics.filter(({ level }) => level === "error");
    return left.slice(0, mostDiagnostics).map(({ message }) => warn(`the plugin ${name}: ${message}`, fix));
  });
  if (bad.length > 0) return bad;
  return [ok(details.length === 0 ? "there are none" : plural(details.length, "plugin"))];
}

type PluginState = Pick<PluginDetail, "name" | "status" | "reason" | "diagnostics">;

async function loadedPlugins(file: LiveFile): Promise<PluginState[]> {
  const client = daemonClient(file);
  const signal = AbortSignal.timeout(answerMs);
  const { plugins } = await client.call("listPlugins", { signal });
  const details = plugins.map(({ name }) => client.call("getPlugin", { path: { plugin: name }, signal }));
  return (await Promise.all(details)).map(({ plugin }) => plugin);
}

async function readPlugins({ root, env }: Pick<Project, "root" | "env">): Promise<PluginState[]> {
  const { validatePlugins } = await import("@aegis/project/plugins/validate.ts");
  return validatePlugins({ root, env });
}

async function checkDaemon({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  if (found.state === "none") return [ok("not running; the first command that needs it starts it")];
  if (found.state === "live") return [await checkAnswer(found.file)];
  const path = daemonFilePath(root);
  const repair = async () => {
    // Check again: a daemon may have started in the meantime.
    const now = await inspectDaemonFile(root, homeOf(env));
    if (now.state === "live") return "a daemon has started";
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
    return warn(`it keeps its previous settings: ${problem}`, "edit the file; the daemon applies the change by itself");
  }
  return ok(`version ${own} at ${status.url}, started ${relativeTime(status.started_at, Date.now())}`);
}

/** A daemon with a fixed port cannot start while another program uses that port. */
async function checkPort({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  if (found.state === "live") return [ok(`${new URL(found.file.url).port || 80}, in use by the daemon`)];
  const checkup = await import("@aegis/project/checkup.ts");
  const { address } = await checkup.checkConfig(root, env);
  if (address === null) return [warn("unknown while the configuration is invalid", "edit the configuration")];
  const { bind, port } = address;
  const refusal = await tryToListen(bind, port);
  if (refusal === null) return [ok(port === 0 ? "any free port" : `${port} is free`)];
  return [fail(`${bind} port ${port}: ${refusal}`, "stop the program that uses it, or set server.port to 0")];
}

function tryToListen(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(error.message));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

async function checkStore({ root, env }: Project): Promise<Finding[]> {
  if ((await unknownState({ root, env })) !== null) return [notLookedAt];
  const found = await inspectDaemonFile(root, homeOf(env));
  const status = found.state === "live" ? await askStatus(found.file) : null;
  const database = await (await import("./check-database.ts")).checkDatabase({ root, env }, status);
  if (database !== null) return database;
  if (status !== null && !status.store.writable) {
    return [
      fail(
        `${status.store.path} cannot be written`,
        "free disk space or fix the file's permissions, then aegis down && aegis up",
      ),
    ];
  }
  if (status === null && found.state === "live")
    return [warn("not checked, because a daemon that does not answer may be using it", "aegis down --force")];
  const checkup = await import("@aegis/project/checkup.ts");
  const finding = await checkup.checkStore(root);
  if (finding.state === "damaged") {
    return [
      fail(
        `the database is damaged: ${finding.reason}`,
        "aegis up moves it aside and starts with an empty one; restore a backup first if you have one",
      ),
    ];
  }
  if (finding.state !== "ours") return [ok("no database yet")];
  const { lossesWithoutDaemon } = await import("@aegis/project/state/losses.ts");
  const losses = lossLines(status?.store.losses ?? (await lossesWithoutDaemon(root, homeOf(env))));
  if (losses.length > 0)
    return [fail(losses.slice(0, -1).join(" "), "aegis down, then aegis store salvage; or aegis store forget")];
  return [
    ok(status === null ? "the database is intact" : `the database is intact, ${bytes(status.store.bytes)}, in use`),
  ];
}

async function checkChannels({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  // Only a daemon has channels, and another check reports a daemon that does not answer.
  const status = found.state === "live" ? await askStatus(found.file) : null;
  return (status?.channels ?? []).map((channel) => {
    const { name, state, fix, waiting, failed } = channel;
    const counts = [
      ...(waiting > 0 ? [`${plural(waiting, "delivery", "deliveries")} waiting`] : []),
      ...(failed > 0 ? [`${plural(failed, "delivery", "deliveries")} given up`] : []),
    ];
    const text = [channelWords(channel, Date.now()), ...counts].join(", ");
    const how = fix ?? `aegis channel test ${name}`;
    if (state === "off" || state === "unauthorized") return fail(text, how);
    return state === "ok" && failed === 0 ? ok(text) : warn(text, how);
  });
}

async function checkProcesses({ root, env, state }: Project): Promise<Finding[]> {
  if ((await unknownState({ root, env })) !== null) return [notLookedAt];
  const daemonRuns = (await inspectDaemonFile(root, homeOf(env))).state === "live";
  const checkup = await import("@aegis/project/checkup.ts");
  const left = await checkup.findLeftovers(root, daemonRuns);
  const table = systemProcessTable();
  const alive = createLedger(join(state, "processes.jsonl"))
    .entries()
    .filter((entry) => entry.start !== null && table.get(entry.pid)?.start === entry.start);
  const own = daemonRuns ? [ok(`${plural(alive.length, "process", "processes")} of the daemon`)] : [];
  if (left.length === 0) return daemonRuns ? own : [ok("none left behind")];
  const repair = async () =>
    `killed ${plural(await checkup.endLeftovers(root, daemonRuns), "process", "processes")} that were left behind`;
  const names = left.map(({ pid, command }) => `${command} (pid ${pid})`).join(", ");
  const kill = `kill -9 ${left.map(({ pid }) => pid).join(" ")}`;
  return [...own, { ...warn(`left behind: ${names}`, `aegis doctor --fix kills them, or ${kill}`), repair }];
}

async function checkAgents({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  const signal = AbortSignal.timeout(probeMs);
  const told = found.state === "live" ? await daemonClient(found.file).call("listAgents", { signal }) : null;
  const checkup = await import("@aegis/project/checkup.ts");
  const known = told === null ? await checkup.checkAgents(root, env) : { ...told, count: told.agents.length };
  // Another check reports problems of the configuration.
  if (known === null) return [];
  if (known.diagnostics.length === 0) return [ok(plural(known.count, "agent"))];
  return known.diagnostics
    .slice(0, mostDiagnostics)
    .map((one) => warn(diagnosticLine(one, root, createStyle(false)), "aegis agent list shows all of them"));
}

async function checkHarnesses({ root, env }: Project): Promise<Finding[]> {
  const found = await inspectDaemonFile(root, homeOf(env));
  const signal = AbortSignal.timeout(probeMs);
  const client = found.state === "live" ? daemonClient(found.file) : null;
  const harnesses =
    client === null
      ? await (await import("@aegis/project/checkup.ts")).probeHarnesses(root, env, signal)
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

async function askStatus(file: LiveFile): Promise<Status | null> {
  return daemonClient(file)
    .call("status", { signal: AbortSignal.timeout(answerMs) })
    .catch(() => null);
}
