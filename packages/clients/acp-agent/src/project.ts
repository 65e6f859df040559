/** One project that the editor works in: its daemon's events, and the sessions that the editor shows. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { type FollowedItem, followEvents } from "@aegis/client/events.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { AskCards } from "./ask-cards.ts";
import { Attachment } from "./attachment.ts";
import { type Choices, choicesFor } from "./choices.ts";
import type { Editor } from "./editor.ts";

/** How the command line reaches the daemon of a folder. */
export type ProjectLink = {
  root: string;
  client: Client;
  /** Starts the daemon if none runs. With `crashed`, only if the last one ended without a clean stop. */
  revive(only?: "crashed"): Promise<void>;
};

export type ProjectOptions = {
  link: ProjectLink;
  editor: Editor;
  signal: AbortSignal;
  warn: (line: string) => void;
};

/** The pause before Aegis follows the events again after it gave up. */
const followAgainMs = 5_000;
const historyPage = 1_000;

export class AcpProject {
  readonly root: string;
  readonly #options: ProjectOptions;
  readonly #attachments = new Map<SessionId, Attachment>();
  readonly #cards: AskCards;
  #following: Promise<void> | null = null;
  #isBroken = false;

  constructor(options: ProjectOptions) {
    this.#options = options;
    const { link, editor, warn } = options;
    this.root = link.root;
    this.#cards = new AskCards({ editor, warn, root: link.root, client: link.client });
  }

  get client(): Client {
    return this.#options.link.client;
  }

  get attached(): Attachment[] {
    return [...this.#attachments.values()];
  }

  /** Repeats a call that found no daemon, after starting one. Only for calls that are safe to repeat. */
  readonly reliably = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      if (!isAegisError(error) || error.code !== "unavailable") throw error;
      await this.#options.link.revive();
      return call();
    }
  };

  async session(reference: string): Promise<SessionView> {
    const { session } = await this.reliably(() => this.client.call("getSession", { path: { session: reference } }));
    return session;
  }

  /** Starts the daemon if it does not run, and follows its events. */
  async ready(): Promise<void> {
    this.#following ??= this.#followFromNow();
    try {
      await this.#following;
    } catch (error) {
      this.#following = null;
      throw error;
    }
  }

  /** Shows a session to the editor. With `replay`, resolves after its whole history has been sent. */
  async attach(session: SessionView, how: { replay: boolean; created: boolean }): Promise<Attachment> {
    await this.ready();
    const before = this.#attachments.get(session.id);
    const { editor } = this.#options;
    const { client, root, reliably } = this;
    const { replay, created } = how;
    const attachment = new Attachment({ session, editor, client, root, reliably, before, replay, created });
    // Registered before the history is read: later events wait in the attachment, so none is missed.
    this.#attachments.set(session.id, attachment);
    if (how.replay) await attachment.begin(await this.#history(session.id));
    else await attachment.begin([], how.created ? 0 : (await client.call("status")).last_seq);
    return attachment;
  }

  detach(session: SessionId): void {
    this.#attachments.delete(session);
  }

  async choices(session: SessionView): Promise<Choices> {
    const { agents } = await this.client.call("listAgents");
    return choicesFor(session, agents);
  }

  /** Sends what an editor shows besides the conversation: the slash commands and the asks that are open. */
  async introduce(attachment: Attachment): Promise<void> {
    await this.#sendCommands([attachment]);
    const { asks } = await this.client.call("listAsks");
    for (const ask of asks) this.#show(ask);
  }

  async #followFromNow(): Promise<void> {
    const { last_seq } = await this.reliably(() => this.client.call("status"));
    void this.#follow(last_seq).catch((error: unknown) => {
      this.#options.warn(`the events of ${this.root} cannot be followed: ${String(error)}`);
    });
  }

  /** Follows the events until the editor leaves, across stops and crashes of the daemon. */
  async #follow(from: number): Promise<void> {
    const { signal } = this.#options;
    let after = from;
    while (!signal.aborted) {
      try {
        const onReconnect = (_: number, error: unknown) => void this.#broke(error).catch(() => {});
        for await (const item of followEvents(this.client, { after, live: true, signal, onReconnect })) {
          if (item.kind === "event") after = item.event.seq;
          await this.#take(item);
        }
      } catch (error) {
        if (!isAegisError(error) || error.code !== "unavailable") throw error;
      }
      await sleep(followAgainMs, undefined, { signal }).catch(() => {});
    }
  }

  async #take(item: FollowedItem): Promise<void> {
    this.#isBroken = false;
    const session = item.kind === "event" ? item.event.session : item.delta.session;
    const attachment = session === null ? undefined : this.#attachments.get(session);
    await attachment?.take(item);
    if (item.kind === "event") await this.#react(item.event, attachment);
  }

  async #react(event: Event, attachment: Attachment | undefined): Promise<void> {
    switch (event.type) {
      case "ask.opened":
        this.#show(event.data.ask);
        break;
      case "ask.settled":
        this.#cards.settle(event.data.ask);
        break;
      case "session.agent":
        if (attachment !== undefined) void this.sendChoices(attachment).catch(() => {});
        break;
      case "config.reloaded":
      case "plugin.loaded":
      case "plugin.reloaded":
      case "plugin.removed":
        void this.#sendCommands(this.attached).catch(() => {});
        break;
      case "daemon.started":
        for (const one of this.attached) void one.recheck();
        break;
      default:
    }
  }

  /** Puts the pickers of the editor in step with the session. */
  async sendChoices(attachment: Attachment): Promise<void> {
    const { configOptions, modes } = await this.choices(await this.session(attachment.id));
    await attachment.update({ sessionUpdate: "config_option_update", configOptions });
    await attachment.update({ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId });
  }

  /** An ask of a subagent is shown in the nearest session above it that the editor has: editors drop unknown ones. */
  #show(ask: Ask): void {
    const chain = [ask.session, ...(ask.origin?.parents ?? []).map(({ session }) => session)];
    const thread = chain.find((session) => this.#attachments.has(session));
    if (thread !== undefined) this.#cards.show(ask, thread);
  }

  async #sendCommands(attachments: readonly Attachment[]): Promise<void> {
    if (attachments.length === 0) return;
    const { commands } = await this.client.call("listCommands");
    const availableCommands = commands
      .filter(({ status }) => status === "ready")
      .map(({ name, description, argument_hint }) => ({
        name,
        description,
        ...(argument_hint === null ? {} : { input: { hint: argument_hint } }),
      }));
    for (const attachment of attachments) {
      await attachment.update({ sessionUpdate: "available_commands_update", availableCommands });
    }
  }

  /** The connection to the daemon ended. A daemon that crashed is started again; one that was stopped stays down. */
  async #broke(error: unknown): Promise<void> {
    // A reader that was too slow reconnects immediately.
    if (error === null) return;
    if (!this.#isBroken) {
      this.#isBroken = true;
      for (const attachment of this.attached.filter(({ isBusy }) => isBusy)) {
        await attachment.notice("warning", "The Aegis daemon does not answer. Aegis reconnects to it.");
      }
    }
    await this.#options.link.revive("crashed").catch((problem: unknown) => this.#options.warn(String(problem)));
  }

  async #history(session: SessionId): Promise<Event[]> {
    const pages: Event[][] = [];
    for (let before: number | undefined; ; ) {
      const query = { limit: historyPage, ...(before === undefined ? {} : { before }) };
      const { events, more } = await this.client.call("history", { path: { session }, query });
      pages.unshift(events);
      before = events[0]?.seq;
      if (!more || before === undefined) return pages.flat();
    }
  }
}
