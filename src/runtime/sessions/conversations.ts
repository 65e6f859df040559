/** The open conversations: at most one per session, started when it is first needed, ended with all its processes. */
import { basename, dirname } from "node:path";
import type { Agent } from "../../contract/agent.ts";
import { isAegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import { mayUsePlane } from "../../contract/scope.ts";
import { type Conversation, type ConversationHost, DriverError, type PlaneAddress } from "../../drivers/driver.ts";
import { makePrivateDirsBelow } from "../../lib/files.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import type { DriverRegistry } from "../registry/drivers.ts";
import { limitedAgent } from "../registry/limits.ts";
import type { ToolRegistry } from "../registry/tools.ts";
import { Toolset } from "../registry/toolset.ts";
import { systemPrompt } from "./primer.ts";

/** `profile` is the agent as it is registered; what the session has of it is in its tools. */
type Open = {
  conversation: Conversation;
  scope: AsyncDisposableStack;
  profile: Agent;
  tools: Toolset;
  /** Whether plugins judge tool calls now without having done so when it was opened. */
  mustAskNow: () => boolean;
};

export type ConversationsOptions = {
  store: Store;
  agents: AgentRegistry;
  drivers: DriverRegistry;
  tools: ToolRegistry;
  /** The project's folder. */
  cwd: string;
  /** Holds a private folder per session. */
  stateDir: string;
  log: Logger;
  host: (session: SessionRow, tools: Toolset) => ConversationHost;
  /** The session's MCP endpoint; the second function revokes it. */
  plane: (session: SessionRow, tools: Toolset) => { address: PlaneAddress | null; revoke: () => void };
  /** What the session is told besides its agent's prompt; nothing for most. */
  briefing: (session: SessionRow) => Promise<string>;
  /** What the session is told of the skills there are; empty when there are none. */
  skills: (session: SessionRow, tools: Toolset, opening: boolean) => Promise<string>;
  /** Told of each conversation that was opened; `resumed` when the session had turns before. */
  opened: (session: SessionRow, resumed: boolean) => void;
  /** Told when an open conversation sees other tools from now on. */
  toolsChanged: () => void;
};

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #open = new Map<SessionId, Promise<Open>>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /**
   * The session's conversation. One whose process died, or whose agent has changed since, is opened again with its
   * memory. Asked for once a turn, so what has changed about its tools is taken over here. Throws `DriverError` when the
   * harness cannot be started.
   */
  async get(session: SessionId): Promise<Conversation> {
    const { agents } = this.#options;
    const current = this.#open.get(session);
    if (current) {
      const open = await current;
      // Agreement may have been taken back while the session rested.
      if (agents.loadAgent(open.profile.ref) !== null) this.#startable(open.profile.ref);
      if (open.conversation.alive && !this.#outdated(open)) {
        if (open.tools.refresh()) this.#options.toolsChanged();
        return open.conversation;
      }
      await this.close(session);
    }
    // Another caller may have opened it while this one waited: at most one live process per session.
    const pending = this.#open.get(session) ?? this.#start(session);
    return (await pending).conversation;
  }

  /** Whether the session's agent still has in mind what was said. */
  has(session: SessionId): boolean {
    return this.#open.has(session);
  }

  /** What the session's agent is told before its first message, whether it was told yet or not. */
  async systemPrompt(id: SessionId): Promise<string> {
    const { store, agents, tools } = this.#options;
    const session = await store.read.sessions.get(id);
    const open = await this.#open.get(id);
    if (!session) return "";
    const agent = limitedAgent(agents.get(session.agent), session.limits);
    return this.#systemPrompt(session, open?.tools ?? new Toolset(tools, agent), false);
  }

  /** Ends the conversation and its processes. Resolves when they are gone. */
  async close(session: SessionId): Promise<void> {
    const current = this.#open.get(session);
    if (!current) return;
    this.#open.delete(session);
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

  #start(session: SessionId): Promise<Open> {
    const opening = this.#openConversation(session);
    this.#open.set(session, opening);
    // A conversation that could not be opened must be tried again by the next message.
    opening.catch(() => {
      if (this.#open.get(session) === opening) this.#open.delete(session);
    });
    return opening;
  }

  async #openConversation(id: SessionId): Promise<Open> {
    const { store, drivers, cwd, stateDir, host, plane, opened } = this.#options;
    const session = await store.read.sessions.get(id);
    if (!session) throw new Error(`session ${id} is not in the store`);
    // Closed between the start of its turn and here: nobody would ever end what is opened now.
    if (session.closed_at !== null) throw new DriverError({ code: "start", message: "the session was closed" });
    const profile = this.#startable(session.agent);
    const agent = limitedAgent(profile, session.limits);
    const driver = drivers.get(agent.harness);
    const folder = await makePrivateDirsBelow(dirname(stateDir), basename(stateDir), id);
    const memory = await this.#memory(session);
    const isSame = session.harness === agent.harness;
    await using scope = new AsyncDisposableStack();
    const tools = new Toolset(this.#options.tools, agent);
    const { address, revoke } = plane(session, tools);
    scope.defer(revoke);
    const own = host(session, tools);
    const wasGated = own.gated;
    const conversation = await driver.open(
      {
        session: { id, handle: session.handle },
        agent,
        cwd,
        stateDir: folder,
        systemPrompt: await this.#systemPrompt(session, tools, true),
        // A conversation of another harness means nothing to this one.
        resume: isSame ? session.resume : null,
        fork: isSame ? (session.fork_point?.resume ?? null) : null,
        memory,
        plane: address,
        host: own,
      },
      scope,
    );
    opened(session, (await store.read.turns.countEndedAfter(id, 0)) > 0);
    const mustAskNow = () => own.gated && !wasGated;
    return { conversation, scope: scope.move(), profile, tools, mustAskNow };
  }

  async #systemPrompt(session: SessionRow, tools: Toolset, opening: boolean): Promise<string> {
    const { agent } = tools;
    const briefing = await this.#options.briefing(session);
    const skills = await this.#options.skills(session, tools, opening);
    return systemPrompt(session, agent, { tools: mayUsePlane(agent) ? tools.names : [], briefing, skills });
  }

  /** What the session was given by the one it was forked from goes first. */
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

  #startable(ref: string): Agent {
    try {
      return this.#options.agents.startable(ref);
    } catch (error) {
      if (!isAegisError(error) || error.code !== "forbidden") throw error;
      throw new DriverError({
        code: "start",
        message: error.message,
        ...(error.hint === undefined ? {} : { fix: error.hint }),
      });
    }
  }

  #outdated(open: Open): boolean {
    const agent = this.#options.agents.loadAgent(open.profile.ref);
    const able = agent && this.#options.drivers.find(agent.harness)?.capabilities;
    if (!able?.resume) return false;
    // A process that was started without a gate may not ask about its tools: it would pass the gate by.
    if (able.mcp && open.mustAskNow()) return true;
    if (agent === open.profile) return false;
    return JSON.stringify(agent) !== JSON.stringify(open.profile);
  }
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
