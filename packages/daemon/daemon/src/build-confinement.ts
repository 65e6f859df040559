/** Decides what each start of a program is confined to: from the settings, the session that it acts for, and its folder. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { confinementsOf, limitedAgent } from "@aegis/agents/limits.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type SandboxLevel, type SandboxSettings, unsaidSandbox } from "@aegis/contract/sandbox.ts";
import { factsOf, harnesses } from "@aegis/drivers/all.ts";
import type { PlaneAddress } from "@aegis/drivers/driver.ts";
import { needsNothing, type SandboxNeeds } from "@aegis/drivers/harness.ts";
import { makePrivateDirsBelow } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { SandboxRecord, wholeProject } from "@aegis/project/sandbox-record.ts";
import { createBubblewrap } from "@aegis/sandbox/bubblewrap/bubblewrap.ts";
import { type Confinement, confined } from "@aegis/sandbox/confined.ts";
import { createNetwork, type Door } from "@aegis/sandbox/network/network.ts";
import { createPlaneDoor } from "@aegis/sandbox/network/plane-door.ts";
import { isWeaker, pathProblem, type Reach, reachOf } from "@aegis/sandbox/reach.ts";
import { policyFor } from "@aegis/sandbox/resolve.ts";
import { SandboxUnavailable } from "@aegis/sandbox/sandbox.ts";
import type { ConversationsOptions } from "@aegis/sessions/conversations.ts";
import type { Store } from "@aegis/store/store.ts";
import type { BuildOptions } from "./build-options.ts";

export type ConfinementOptions = Pick<BuildOptions, "root" | "stateDir" | "env" | "processes" | "settings" | "log"> & {
  store: Store;
  agents: AgentTable;
};

export type ConfinedProcesses = {
  /** The session whose agent it acts for; without one the project's settings decide. */
  session?: SessionId | undefined;
  /** The settings of a starter that is no session any more. */
  within?: readonly SandboxSettings[] | undefined;
  /** Where it works. */
  folder: string;
  /** Folders of the daemon's state that it changes. */
  own?: readonly string[];
  /** For the program of a harness. */
  harness?: HarnessPlace | undefined;
};

type HarnessPlace = {
  needs: SandboxNeeds;
  /** Its own login, which other programs do not see. */
  logins: readonly string[];
  stateDir: string;
  plane: Pick<PlaneAddress, "url" | "token"> | null;
};

/** Returns what starts the program. Throws `unavailable` if it must be confined and cannot be. */
export type Confine = (what: ConfinedProcesses) => Promise<Processes>;

/** Files of the project from which a harness takes orders; not its variables, which are work like any other file. */
const orders = harnesses
  .flatMap(({ projectFiles }) => (projectFiles === "any" ? [] : projectFiles))
  .flatMap(({ path, counts }) => (counts === "variables" ? [] : [path]));

/** For the conversation of a session. A harness that Aegis cannot confine is not started instead. */
export function confineSessions(
  confine: Confine,
  { env, processes }: Pick<ConfinementOptions, "env" | "processes">,
): ConversationsOptions["confine"] {
  return async ({ id }, { agent, cwd, stateDir, plane }) => {
    const facts = factsOf(agent.harness);
    const given = { ...env, ...agent.env };
    const needs = facts?.sandbox?.({ home: homeOf(given), env: given, stateDir }) ?? null;
    const harness = { needs: needs ?? needsNothing, logins: facts?.logins ?? [], stateDir, plane };
    const found = await confine({ session: id, folder: cwd, harness });
    const isConfined = found !== processes;
    if (!isConfined || needs !== null) return { processes: found, confined: isConfined };
    const cause = `Aegis does not confine ${facts?.program?.name ?? agent.harness} yet`;
    const fix = `set sandbox: off for the agent "${agent.slug}", or give it another harness`;
    throw new AegisError("unavailable", cause, { hint: fix, cause: new SandboxUnavailable({ cause, fix }) });
  };
}

export function buildConfinement(options: ConfinementOptions): Confine {
  const { root, stateDir, env, processes, settings, store, agents, log } = options;
  const home = homeOf(env);
  const places = { root, home };
  const scratch = join(stateDir, "sandbox");
  const sandbox = createBubblewrap({ processes, env, scratch: join(scratch, "probe") });
  const record = new SandboxRecord(root, env);
  let cleaned: Promise<void> | null = null;

  const forSession = async (id: SessionId | undefined) => {
    const row = id === undefined ? null : await store.read.sessions.get(id);
    const found = row === null ? null : agents.loadAgent(row.agent);
    if (row === null || found === null) return { settings: [unsaidSandbox], mayWrite: true, agent: null };
    const agent = limitedAgent(found, row.limits);
    return { settings: confinementsOf(agent), mayWrite: agent.permission !== "read", agent };
  };

  const one = async (reach: Reach, place: Place): Promise<Confinement> => {
    const { folder, mayWrite, own, harness } = place;
    const needs = harness?.needs ?? needsNothing;
    // A path with a slash at its end is a folder.
    await Promise.all(needs.write.filter((path) => path.endsWith("/")).map((path) => mkdir(path, { recursive: true })));
    cleaned ??= rm(scratch, { recursive: true, force: true });
    await cleaned;
    await makePrivateDirsBelow(stateDir, "sandbox");
    const cache = await makePrivateDirsBelow(stateDir, "cache");
    const base = await mkdtemp(join(scratch, "tmp-"));
    const [tmp, replacing] = [join(base, "tmp"), join(base, "instead")];
    await Promise.all([tmp, replacing].map((path) => mkdir(path, { mode: 0o700 })));
    const policy = await policyFor(reach, {
      root,
      folder: await realpath(folder),
      mayWrite,
      home,
      env,
      stateDir,
      own: [cache, ...own, ...needs.write],
      shown: [...needs.show, ...(harness === undefined ? [] : [harness.stateDir])],
      protectOwn: needs.protect,
      replaced: needs.replace === null ? null : { folder: replacing, at: needs.replace },
      hosts: needs.hosts,
      tmp,
      logins: harnesses.flatMap(({ logins }) => logins).filter((path) => !harness?.logins.includes(path)),
      protect: orders,
    });
    if (policy === null) throw new Error("a program that is not confined has no policy");
    const network = createNetwork({
      hosts: policy.hosts,
      ports: policy.ports,
      doors: planeDoor(harness?.plane ?? null),
      refusal: (host, port) => refusalText(host, port),
    });
    const close = () => {
      network.close();
      rm(base, { recursive: true, force: true }).catch((error: unknown) =>
        log.warn("a folder of a sandbox stays behind", { folder: base, error: errorText(error) }),
      );
    };
    return { policy, network: { ...network, close }, env: { ...(await cacheVariables(cache)), ...needs.env } };
  };

  return async ({ session, within = [], folder, own = [], harness }) => {
    const { config } = settings();
    const acting = await forSession(session);
    const reach = reachOf([...acting.settings, ...within], config, places);
    await notWeaker(record, acting.agent, config.sandbox, reach.level);
    if (reach.level === "off") return processes;
    for (const [kind, paths] of Object.entries({ write: reach.write, read: reach.read })) {
      for (const path of paths) {
        const problem = pathProblem(path, kind === "write" ? "write" : "read", places);
        if (problem !== null) throw new AegisError("unavailable", `allow.${kind}: ${path}: ${problem}`);
      }
    }
    const report = await sandbox.report();
    if (!report.works) {
      const cause = new SandboxUnavailable(report);
      throw new AegisError("unavailable", cause.message, { hint: report.fix, cause });
    }
    const subject = subjectOf(acting.agent, config.sandbox);
    await record.raise(subject.name, subject.level);
    return confined(processes, sandbox, () => one(reach, { folder, mayWrite: acting.mayWrite, own, harness }));
  };
}

type ActingAgent = Pick<Agent, "slug" | "sandbox"> | null;

/** Whose level it is: an agent's own, or that of the project. */
function subjectOf(agent: ActingAgent, project: SandboxLevel): { name: string; level: SandboxLevel } {
  if (agent === null || agent.sandbox === null) return { name: wholeProject, level: project };
  return { name: `agent ${agent.slug}`, level: agent.sandbox };
}

/** A person agreed to an agent's own `off`. A setting that has become weaker otherwise is accepted first. */
async function notWeaker(record: SandboxRecord, agent: ActingAgent, project: SandboxLevel, level: SandboxLevel) {
  if (agent?.sandbox === "off") return;
  const levels = await record.read();
  const names = [...(agent === null ? [] : [`agent ${agent.slug}`]), subjectOf(agent, project).name];
  for (const name of names) {
    const before = levels[name];
    if (before === undefined || !isWeaker(level, before)) continue;
    const who = name === wholeProject ? "this project" : name;
    const cause = `${who} ran with sandbox: ${before} before, and its settings now say ${level}`;
    const fix = "set the level again, or accept the present settings: aegis sandbox accept";
    throw new AegisError("unavailable", cause, { hint: fix, cause: new SandboxUnavailable({ cause, fix }) });
  }
}

type Place = Required<Pick<ConfinedProcesses, "folder" | "own">> & {
  mayWrite: boolean;
  harness: HarnessPlace | undefined;
};

/** The session's endpoint has the same address inside. */
function planeDoor(plane: HarnessPlace["plane"]): Map<number, Door> {
  return new Map(plane === null ? [] : [[Number(new URL(plane.url).port), createPlaneDoor(plane)]]);
}

function refusalText(host: string, port: number): string {
  const named = port === 80 || port === 443 ? host : `${host}:${port}`;
  return `${named} is not allowed; a person can add "${named}" to allow.hosts in .aegis.yaml`;
}

/** Caches of tools, shared by the programs of the project: those of the user would be used outside too. */
async function cacheVariables(cache: string): Promise<Record<string, string>> {
  const named = {
    npm_config_cache: "npm",
    XDG_CACHE_HOME: "xdg",
    PIP_CACHE_DIR: "pip",
    GOCACHE: "go-build",
    GOMODCACHE: "go-mod",
    CARGO_HOME: "cargo",
    GRADLE_USER_HOME: "gradle",
  };
  const variables = Object.entries(named).map(([name, folder]) => [name, join(cache, folder)] as const);
  await Promise.all(variables.map(([, path]) => mkdir(path, { recursive: true, mode: 0o700 })));
  return Object.fromEntries(variables);
}
