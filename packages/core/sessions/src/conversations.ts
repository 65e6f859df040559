/** The open conversations: at most one per session, opened on demand, and closed together with all its processes. */
import { basename, dirname } from "node:path";
import { missingAgent } from "@aegis/agents/agent-problems.ts";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { limitedAgent } from "@aegis/agents/limits.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { mayUsePlane } from "@aegis/contract/tool-access.ts";
import {
  type Capabilities,
  type Conversation,
  type ConversationHost,
  DriverError,
  type DriverEvent,
  type PlaneAddress,
} from "@aegis/drivers/driver.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { makePrivateDirsBelow } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { expandVariables } from "@aegis/lib/variables.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { folderOf, joined, type SessionExtensions, type SessionFolder } from "./extensions.ts";
import { recordMemoryLoss } from "./memory.ts";
import type { Openings } from "./openings.ts";
import { systemPrompt } from "./primer.ts";
import { asStartFailure } from "./refused-start.ts";
import type { ToolTable } from "./tools/tools.ts";
import { Toolset } from "./tools/toolset.ts";

/** `profile` is the registered agent; the tools contain the session's limits. */
type Open = {
  conversation: Conversation;
  scope: AsyncDisposableStack;
  profile: Agent;
  /** Nothing that the agent runs needs trust. */
  isInert: boolean;
  capabilities: Capabilities;
  tools: Toolset;
  /** Whether a plugin gates tool calls now that did not when the conversation was opened. */
  mustAskNow: () => boolean;
};

export type Opening = {
  /** The caller will query the harness's record of the conversation. */
  wantsRecord: boolean;
  /** The text of the messages for which it is opened. */
  about: string;
};

export type ConversationsOptions = {
  store: Store;
  clock: Clock;
  agents: AgentTable;
  drivers: DriverTable;
  tools: ToolTable;
  /** The project's folder. */
  cwd: string;
  /** The daemon's environment, from which agents may take variables by name. */
  env: Environment;
  /** Contains a private folder per session. */
  stateDir: string;
  log: Logger;
  /** Limits how many external harnesses start in parallel. */
  openings: Openings;
  judge: {
    /** Throws `forbidden` if what the agent would run is no longer trusted. */
    session(agent: Agent, folder: string | null): Promise<unknown>;
    /** Whether the agent needs no trust until the settings give it another profile. */
    isInert(agent: Agent): Promise<boolean>;
  };
  host: (
    session: SessionRow,
    tools: Toolset,
    own: Pick<ConversationHost, "spontaneousTurn" | "processes" | "confined">,
  ) => ConversationHost;
  /** What starts the programs of a session. Throws if they must be confined and cannot be. */
  confine: (session: SessionRow, place: ConfinedPlace) => Promise<Pick<ConversationHost, "processes" | "confined">>;
  /** The session's MCP endpoint; the second function revokes it. */
  plane: (session: SessionRow, tools: Toolset) => { address: PlaneAddress | null; revoke: () => void };
  extensions: SessionExtensions;
  /** Called when the tools of an open conversation change. */
  toolsChanged: () => void;
};

/** Where an agent works, and its endpoint. */
export type ConfinedPlace = { agent: Agent; cwd: string; stateDir: string; plane: PlaneAddress | null };

type SpontaneousTurn = (session: SessionId, events: AsyncIterable<DriverEvent>) => void;

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #open = new Map<SessionId, Promise<Open>>();
  /** Aborts openings that wait for a slot when they are closed. */
  readonly #closing = new Map<Promise<Open>, AbortController>();

  /** Sessions whose agent or model changed since their conversation was opened. */
  readonly #reassigned = new Set<SessionId>();

  #spontaneousTurn: SpontaneousTurn = () => {};

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** Sets the listener that records turns started by harnesses themselves. */
  onSpontaneousTurn(listener: SpontaneousTurn): void {
    this.#spontaneousTurn = listener;
  }

  /**
   * Returns the session's conversation. Reopens and resumes it if its process died or its agent changed. Called once
   * per turn, so it also refreshes the tools. Throws `DriverError` if the harness cannot start.
   */
  async get(session: SessionId, how: Partial<Opening> = {}): Promise<Conversation> {
    const { agents } = this.#options;
    const current = this.#open.get(session);
    if (current) {
      const open = await current;
      // Trust may have been revoked or its content changed while the session was idle.
      if (agents.loadAgent(open.profile.ref) !== null) await this.#stillStartable(session, open);
      if (open.conversation.alive && !this.#reassigned.has(session) && !this.#outdated(open)) {
        if (open.tools.refresh()) this.#options.toolsChanged();
        return open.conversation;
      }
      await this.close(session);
    }
    // Another caller may have opened it meanwhile: at most one live process per session.
    const pending = this.#open.get(session) ?? this.#start(session, { wantsRecord: false, about: "", ...how });
    return (await pending).conversation;
  }

  /** Makes the next turn reopen the conversation, because the session's agent or model changed. */
  reopenNext(session: SessionId): void {
    if (this.#open.has(session)) this.#reassigned.add(session);
  }

  /** Whether the session has an open conversation. */
  has(session: SessionId): boolean {
    return this.#open.has(session);
  }

  /** The system prompt of the session's agent, whether it was already sent or not. */
  async systemPrompt(id: SessionId): Promise<string> {
    const { store, agents, tools } = this.#options;
    const session = await store.read.sessions.get(id);
    const open = await this.#open.get(id);
    if (!session) return "";
    const agent = limitedAgent(agents.get(session.agent), session.limits);
    return this.#systemPrompt(session, open?.tools ?? new Toolset(tools, agent, session), null);
  }

  /** Closes the conversation. Resolves when its processes are gone. */
  async close(session: SessionId): Promise<void> {
    const current = this.#open.get(session);
    if (!current) return;
    this.#open.delete(session);
    this.#reassigned.delete(session);
    this.#closing.get(current)?.abort(new DriverError({ code: "start", message: "the session was closed" }));
    try {
      const open = await current;
      await open.scope.disposeAsync();
    } catch (error) {
      this.#options.log.warn("a conversation did not close cleanly", { session, error: errorText(error) });
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((session) => this.close(session)));
  }

  #start(session: SessionId, how: Opening): Promise<Open> {
    const closing = new AbortController();
    const opening = this.#openWithRoom(session, how, closing.signal);
    this.#open.set(session, opening);
    this.#closing.set(opening, closing);
    // After a failed opening, the next message must retry.
    opening
      .catch(() => {
        if (this.#open.get(session) === opening) this.#open.delete(session);
      })
      .finally(() => this.#closing.delete(opening));
    return opening;
  }

  /** Reads the session after waiting for a slot, because it may have changed meanwhile. */
  async #openWithRoom(id: SessionId, how: Opening, closing: AbortSignal): Promise<Open> {
    const { store, agents, drivers, openings } = this.#options;
    const session = await store.read.sessions.get(id);
    const agent = session && agents.loadAgent(session.agent);
    const startsProgram = agent && drivers.find(agent.harness)?.capabilities.mcp;
    const open = () => this.#openConversation(id, how);
    return startsProgram ? openings.run(open, closing) : open();
  }

  async #openConversation(id: SessionId, { wantsRecord, about }: Opening): Promise<Open> {
    const { store, drivers, stateDir, host, plane } = this.#options;
    const session = await store.read.sessions.get(id);
    if (!session) throw new Error(`session ${id} is not in the store`);
    // The session was closed after its turn started; a conversation opened now would never be closed.
    if (session.closed_at !== null) throw new DriverError({ code: "start", message: "the session was closed" });
    const { cwd, env } = await this.#folder(id);
    const profile = await this.#startable(session.agent, cwd, null);
    const isInert = await this.#options.judge.isInert(profile);
    const agent = limitedAgent(profile, session.limits);
    const driver = drivers.get(agent.harness);
    const folder = await makePrivateDirsBelow(dirname(stateDir), basename(stateDir), id);
    const memory = await this.#memory(session);
    // A harness cannot resume the conversation of another harness.
    const resume = session.harness === agent.harness ? session.resume : null;
    await using scope = new AsyncDisposableStack();
    const tools = new Toolset(this.#options.tools, agent, session);
    const { address, revoke } = plane(session, tools);
    scope.defer(revoke);
    const given = withVariables(agent, this.#options.env, env);
    const { processes, confined } = await this.#options
      .confine(session, { agent: given, cwd, stateDir: folder, plane: address })
      .catch((error: unknown) => {
        throw asStartFailure(error);
      });
    const own = host(session, tools, {
      processes,
      confined,
      spontaneousTurn: (events) => this.#spontaneousTurn(id, events),
    });
    const wasGated = own.gated;
    const conversation = await driver.open(
      {
        session: { id, handle: session.handle },
        agent: given,
        cwd,
        stateDir: folder,
        systemPrompt: await this.#systemPrompt(session, tools, about),
        resume,
        fork: session.harness === agent.harness ? (session.fork_point?.resume ?? null) : null,
        memory,
        wantsRecord,
        plane: address,
        host: own,
      },
      scope,
    );
    if (!conversation.restored.conversation) await this.#beginsAnew(id, resume);
    const mustAskNow = () => own.gated && !wasGated;
    return {
      conversation,
      scope: scope.move(),
      profile,
      isInert,
      capabilities: driver.capabilities,
      tools,
      mustAskNow,
    };
  }

  /** A driver that could not resume a named conversation has already reported it through `remember`. */
  async #beginsAnew(id: SessionId, resume: string | null): Promise<void> {
    const { store, clock } = this.#options;
    await store.transact(async (tx) => {
      const now = (await tx.sessions.get(id))?.resume ?? null;
      if (resume === null || now === resume) await recordMemoryLoss(tx, id, clock);
    });
  }

  /** `about` is null if the conversation is not opened now. */
  async #systemPrompt(session: SessionRow, tools: Toolset, about: string | null): Promise<string> {
    const { agent } = tools;
    const { briefings, skillSections } = this.#options.extensions;
    const briefing = await joined(briefings.map((brief) => brief(session)));
    const skills = await joined(skillSections.map((section) => section(session, tools, about)));
    return systemPrompt(session, agent, { tools: mayUsePlane(agent) ? tools.names : [], briefing, skills });
  }

  /** The memory inherited from the forked session comes first. */
  async #memory(session: SessionRow): Promise<unknown[]> {
    const { store } = this.#options;
    const generations: unknown[][] = [];
    let row: SessionRow | null = session;
    for (let until = Number.MAX_SAFE_INTEGER; row !== null; ) {
      generations.unshift(await storedMemory(store, row.id, until));
      until = Math.min(until, row.fork_point?.seq ?? 0);
      row = row.forked_from === null ? null : await store.read.sessions.get(row.forked_from);
    }
    return generations.flat();
  }

  async #folder(id: SessionId): Promise<SessionFolder> {
    try {
      return await folderOf(this.#options.extensions, id, this.#options.cwd);
    } catch (error) {
      throw asStartFailure(error);
    }
  }

  /** `inert` is an agent that needs no trust. */
  async #startable(ref: string, folder: string | null, inert: Agent | null): Promise<Agent> {
    const { agents } = this.#options;
    if (agents.loadAgent(ref) === null) {
      const fix = "aegis agent list shows the agents; aegis close <session> closes the session";
      throw new DriverError({ code: "start", message: `the session cannot continue: ${missingAgent(ref)}`, fix });
    }
    try {
      const agent = agents.startable(ref);
      if (agent !== inert) await this.#options.judge.session(agent, folder);
      return agent;
    } catch (error) {
      throw asStartFailure(error);
    }
  }

  /** Closes a running process that is no longer allowed to start. */
  async #stillStartable(session: SessionId, { profile, isInert }: Open): Promise<void> {
    try {
      await this.#startable(profile.ref, null, isInert ? profile : null);
    } catch (error) {
      await this.close(session);
      throw error;
    }
  }

  #outdated(open: Open): boolean {
    const agent = this.#options.agents.loadAgent(open.profile.ref);
    if (agent === null) return false;
    const isSame = agent.harness === open.profile.harness;
    const able = isSame ? open.capabilities : this.#options.drivers.find(agent.harness)?.capabilities;
    if (!able?.resume) return false;
    // A process that was started without a gate may not ask before using its tools and would bypass the gate.
    if (able.mcp && open.mustAskNow()) return true;
    if (agent === open.profile) return false;
    return JSON.stringify(agent) !== JSON.stringify(open.profile);
  }
}

/** Resolves the variables in the agent's environment. Only its driver sees the values. */
function withVariables(agent: Agent, env: Environment, more: SessionFolder["env"]): Agent {
  const own = Object.entries(agent.env).map(([name, text]) => [name, expandVariables(text, env).text]);
  return { ...agent, env: { ...more, ...Object.fromEntries(own) } };
}

/** The values that the drivers of a session stored up to an event. */
async function storedMemory(store: Store, session: SessionId, until: number): Promise<unknown[]> {
  const page = 500;
  const values: unknown[] = [];
  for (let after = 0; ; ) {
    const events = await store.read.events.list({ session, types: ["turn.memory"], after, limit: page });
    const known = events.filter((event) => event.seq <= until);
    for (const event of known) if (event.type === "turn.memory") values.push(event.data.value);
    const last = known.at(-1);
    if (!last || known.length < page) return values;
    after = last.seq;
  }
}
