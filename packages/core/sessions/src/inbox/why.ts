/** Follows the causes of a message back to their beginning. Each step is read from the store; nothing is guessed. */
import { AegisError } from "@aegis/contract/errors.ts";
import { type BroadcastId, isId, type MessageId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message, Sender } from "@aegis/contract/message.ts";
import type { WhyLink } from "@aegis/contract/why.ts";
import { cutText } from "@aegis/lib/cut-text.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { StoreReads } from "@aegis/store/store.ts";

/** A chain of messages is limited by `messages.max_hops`; a longer one is corrupt. */
const mostLinks = 300;
const shownText = 400;

/** The message itself first. Throws `not_found`. */
export async function whyMessage(read: StoreReads, id: MessageId, redact: Redact): Promise<WhyLink[]> {
  const message = await read.messages.get(id);
  if (message === null) throw new AegisError("not_found", `no message ${id}`);
  const chain = new Chain(read, redact);
  await chain.message(message);
  return chain.links;
}

class Chain {
  readonly links: WhyLink[] = [];
  readonly #read: StoreReads;
  readonly #redact: Redact;
  readonly #seen = new Set<string>();

  constructor(read: StoreReads, redact: Redact) {
    this.#read = read;
    this.#redact = redact;
  }

  async message(message: Message): Promise<void> {
    const { id, session, admitted_at: at } = message;
    if (this.#seen.has(id) || this.links.length >= mostLinks) return;
    this.#seen.add(id);
    await this.#add({ kind: "message", id, at, session, text: message.body });
    await this.#sender(message.sender, { at, message });
  }

  async #sender(sender: Sender, from: { at: number; message: Message }): Promise<void> {
    switch (sender.kind) {
      case "human":
        return this.#begin("person", null);
      case "channel":
        return this.#begin("person", sender.name);
      case "client":
        return this.#begin("client", sender.name);
      case "webhook":
        return this.#begin("webhook", sender.name);
      case "schedule":
        return this.#schedule(sender.name, from.message.session);
      case "agent":
        return this.#turn(sender.session, from.at, from.message);
      case "queue":
        return this.#task(sender.task, from.message);
      case "workflow":
        return this.#run(sender.run, from.message);
      case "group":
        return this.#broadcast(sender.broadcast, from.message);
      case "substrate":
        return this.#notice(from.message);
      default:
        sender satisfies never;
    }
  }

  /** The turn in which a session acted at that time, and the message with the longest chain in it. */
  async #turn(session: SessionId, at: number, effect: Message | null): Promise<void> {
    const turn = await this.#read.turns.lastStarted(session, at);
    if (turn !== null) await this.#add({ kind: "turn", id: turn.id, at: turn.started_at, session, text: turn.text });
    const taken = turn === null ? [] : await this.#read.messages.inTurn(turn.id);
    const sameChain = taken.filter(({ chain }) => effect === null || chain === effect.chain);
    const [cause] = (sameChain.length > 0 ? sameChain : taken).sort((a, b) => b.hops - a.hops);
    // Messages of an interrupted turn belong to the turn that took them again.
    return cause === undefined ? this.#root(effect) : this.message(cause);
  }

  async #task(id: string, effect: Message): Promise<void> {
    const task = isId("tsk", id) ? await this.#read.tasks.get(id) : null;
    if (task === null) return this.#root(effect);
    const { queue: name, enqueued_at: at, worker: session, producer } = task;
    await this.#add({ kind: "task", id, at, session, name, text: task.payload });
    if (producer !== null) return this.#turn(producer, at, effect);
    const run = await this.#read.steps.ofTask(task.id);
    return run === null ? this.#startedBy(id, task.chain) : this.#run(run, effect);
  }

  async #run(id: string, effect: Message): Promise<void> {
    const run = isId("run", id) ? await this.#read.runs.get(id) : null;
    if (run === null) return this.#root(effect);
    const { workflow: name, created_at: at, host } = run;
    await this.#add({ kind: "run", id, at, session: null, name, text: "" });
    if (host !== null) return this.#turn(host, at, effect);
    return this.#startedBy(id, run.chain);
  }

  async #broadcast(id: string, effect: Message): Promise<void> {
    const broadcast = await this.#read.broadcasts.get(id as BroadcastId);
    if (broadcast === null) return this.#root(effect);
    const { created_at: at, sender, objective: text } = broadcast;
    const name = effect.sender.kind === "group" ? effect.sender.group : null;
    await this.#add({ kind: "broadcast", id, at, session: null, name, text });
    return this.#sender(sender, { at, message: effect });
  }

  /** A notice of Aegis: the end of a subagent, or something without a recorded cause. */
  async #notice(message: Message): Promise<void> {
    const subagent = await this.#read.subagents.announcedBy(message.id);
    if (subagent === null) return this.#root(message);
    const { run_id: id, created_at: at, session, label: name, task: text, parent } = subagent;
    await this.#add({ kind: "subagent", id, at, session, name, text });
    return this.#turn(parent, at, message);
  }

  /** A task or a run without a session behind it: a schedule or a person started it, or another run. */
  async #startedBy(effect: string, chain: MessageId | null): Promise<void> {
    const firing = await this.#read.firings.ofEffect(effect);
    if (firing !== null) return this.#begin("schedule", firing.schedule, { id: firing.id, at: firing.claimed_at });
    const first = chain === null ? null : await this.#read.messages.get(chain);
    return first === null ? this.#begin("person", null) : this.message(first);
  }

  async #schedule(name: string, session: SessionId): Promise<void> {
    const firing = await this.#read.firings.ofEffect(session);
    await this.#begin("schedule", name, firing === null ? {} : { id: firing.id, at: firing.claimed_at });
  }

  /** Continues at the first message of the chain if the steps between are not recorded. */
  async #root(message: Message | null): Promise<void> {
    const first = message === null ? null : await this.#read.messages.get(message.chain);
    if (first === null || this.#seen.has(first.id)) return this.#begin("aegis", null);
    return this.message(first);
  }

  #begin(kind: WhyLink["kind"], name: string | null, more: { id?: string; at?: number } = {}): Promise<void> {
    return this.#add({ kind, name, id: more.id ?? null, at: more.at ?? null, session: null, text: "" });
  }

  async #add(link: Pick<WhyLink, "kind" | "id" | "at" | "session" | "text"> & { name?: string | null }): Promise<void> {
    const row = link.session === null ? null : await this.#read.sessions.get(link.session);
    const text = cutText(this.#redact(link.text), shownText);
    this.links.push({ ...link, text, name: link.name ?? null, handle: row?.handle ?? null, agent: row?.agent ?? null });
  }
}
