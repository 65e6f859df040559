/**
 * ACP agents as processes of their own, sent messages by people and by peers, which meet in one turn. Daemons and agents
 * are killed. What counts is what the agents themselves wrote down: each message reached one, a second time only with a
 * mark, and what it asked for was done once.
 */
import { readFileSync } from "node:fs";
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { exactlyOne, type Finding, messagesOf, nameOf, type TurnEnd, turnEnds } from "./check.ts";
import { agentPids, type Journal, readJournal } from "./journal.ts";
import { deliver, freshMessage, type Sent, sentAgain, startLoad } from "./load.ts";
import { acpVariants, agentsFolder } from "./project.ts";
import type { Random } from "./random.ts";
import { type Checked, type Scenario, untilIdle, type Work } from "./scenario.ts";

const heralds = ["herald-one", "herald-two"];
/** One in so many messages is handed on by a peer, and one in so many asks for permission. */
const peerEvery = 3;
const permitEvery = 4;
const token = /\b(?:act|permit)-\w+/;

export class Agents implements Scenario {
  readonly files = {};
  readonly #random: Random;
  readonly #sent = new Set<Sent>();
  /** With their handles. */
  readonly #agents = new Map<SessionId, string>();
  readonly #heralds: SessionId[] = [];
  #backlog: Sent[] = [];
  #killed = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  async prepare(client: Client): Promise<void> {
    for (const agent of Object.keys(acpVariants)) {
      const { session } = await client.call("createSession", { body: { agent, handle: `acp-${agent}` } });
      this.#agents.set(session.id, session.handle);
    }
    for (const handle of heralds) {
      const { session } = await client.call("createSession", { body: { agent: "lead", handle } });
      this.#heralds.push(session.id);
    }
  }

  load(client: Client, round: number): Work {
    const load = startLoad(client, {
      writers: 2,
      fresh: () => this.#fresh(round),
      backlog: this.#backlog,
      isReady: ({ pending }) => pending < 4,
    });
    return {
      stop: async () => {
        await load.stop();
        for (const message of load.sent) this.#sent.add(message);
        this.#backlog = sentAgain(load.sent, this.#random);
      },
    };
  }

  async finish(client: Client): Promise<void> {
    for (const message of this.#backlog) await deliver(client, message);
  }

  drained(client: Client): Promise<void> {
    return untilIdle(client);
  }

  /** Kills one agent that runs, if there is one. */
  async disturb(project: string): Promise<void> {
    const running = (await agentPids(project)).filter((pid) => isAgentOf(project, pid));
    if (running.length === 0) return;
    try {
      process.kill(this.#random.pick(running), "SIGKILL");
      this.#killed += 1;
    } catch {
      // It ended by itself meanwhile.
    }
  }

  async check(events: readonly Event[], project: string): Promise<Checked> {
    const journal = await readJournal(project);
    const admitted = messagesOf(events);
    const ends = turnEnds(events);
    const forAgents = [...admitted.values()].flat().filter(({ session }) => this.#agents.has(session));
    const byToken = Map.groupBy(forAgents, ({ body }) => token.exec(body)?.[0] ?? "");
    const owed = [...this.#sent].filter(({ id, acknowledged }) => acknowledged || admitted.has(id));
    const findings = owed.flatMap((message): Finding[] => {
      const own = token.exec(message.text)?.[0] ?? "";
      const copies = byToken.get(own) ?? [];
      const [copy] = copies;
      const once = exactlyOne(copies.length, `${nameOf(message)} in the inbox of its agent`);
      if (copy === undefined || once.length > 0) return once;
      const name = `${own} for ${this.#agents.get(copy.session)}, sent in round ${message.round}`;
      const end = ends.get(copy.id) ?? [];
      return [...checkEnds(name, end), ...checkJournal(own, name, journal, end)];
    });
    const dead = new Set(
      [...ends.values()]
        .flat()
        .filter(hasDied)
        .map(({ turn }) => turn),
    );
    if (dead.size > this.#killed)
      findings.push({ kind: "lost", what: `${dead.size} turns died with ${this.#killed} killed harnesses` });
    return {
      findings,
      counts: {
        "messages to ACP agents": owed.length,
        "prompts of ACP agents": journal.prompts.length,
        "marked repeats": markedRepeats(journal),
        "mixed batches": mixedBatches(events, admitted),
        "killed harnesses": this.#killed,
        "turns that ended with their harness": dead.size,
      },
    };
  }

  progress(): string {
    return `${this.#sent.size} messages to ACP agents`;
  }

  #fresh(round: number): Sent {
    const [agent, handle] = this.#random.pick([...this.#agents]);
    const word = this.#random.between(1, permitEvery) === 1 ? "permit" : "act";
    if (this.#random.between(1, peerEvery) > 1) return freshMessage(agent, round, (own) => own, word);
    return freshMessage(this.#random.pick(this.#heralds), round, (own) => `tell ${handle} ${own}`, word);
  }
}

/** With its harness, at work or when that had just been started. */
const hasDied = ({ reason, error }: TurnEnd) =>
  reason === "failed" && (error?.code === "died" || (error?.code === "start" && error.message.includes("SIGKILL")));

/** A turn ends with its harness when that is killed; its message is not sent again by itself. */
function checkEnds(name: string, ends: readonly TurnEnd[]): Finding[] {
  const [end] = ends;
  if (end === undefined) return [{ kind: "unanswered", what: `${name} was admitted and never answered` }];
  if (ends.length > 1) return [{ kind: "doubled", what: `${name} was answered ${ends.length} times` }];
  if (end.reason === "completed" || hasDied(end)) return [];
  return [{ kind: "unanswered", what: `${name}: its turn ended as ${end.reason}: ${end.error?.message}` }];
}

function checkJournal(own: string, name: string, { prompts, acts }: Journal, [end]: readonly TurnEnd[]): Finding[] {
  const findings: Finding[] = [];
  const reached = prompts.filter(({ tokens }) => tokens.has(own));
  const unmarked = reached.filter(({ marked }) => !marked).length;
  const done = acts.get(own) ?? 0;
  const mayBeMissing = end !== undefined && hasDied(end);
  if (reached.length === 0 && !mayBeMissing) findings.push({ kind: "lost", what: `${name} never reached its agent` });
  if (unmarked > 1) findings.push({ kind: "doubled", what: `${name} reached its agent ${unmarked} times unmarked` });
  if (done > 1) findings.push({ kind: "doubled", what: `${name} was acted on ${done} times` });
  if (done === 0 && !mayBeMissing) findings.push({ kind: "lost", what: `${name} was not acted on` });
  return findings;
}

/** Prompts with messages that an agent had been sent before, each of which says so. */
function markedRepeats({ prompts }: Journal): number {
  return prompts.filter(({ marked, tokens }) => marked && tokens.size > 0).length;
}

/** Turns that began with messages of more than one kind of sender. */
function mixedBatches(events: readonly Event[], admitted: ReadonlyMap<MessageId, readonly Message[]>): number {
  const kinds = (ids: readonly MessageId[]) => new Set(ids.map((id) => admitted.get(id)?.[0]?.sender.kind));
  return events.filter(({ type, data }) => type === "turn.started" && kinds(data.messages).size > 1).length;
}

/** A pid may have been given to another process. */
function isAgentOf(project: string, pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(agentsFolder(project));
  } catch {
    return false;
  }
}
