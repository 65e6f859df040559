/**
 * Agents that give work to others: tasks whose result comes back as a message, subagents, groups that are asked together,
 * and actions that a person permits first. Each effect happens once, and its waiter is notified once.
 */
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { collect, exactlyOne, type Finding, messagesOf, type TurnEnd, turnEnds } from "./check.ts";
import { readJournal } from "./journal.ts";
import { deliver, freshMessage, type Sent, sentAgain, startLoad } from "./load.ts";
import type { Random } from "./random.ts";
import { type Checked, type Scenario, untilIdle, type Work } from "./scenario.ts";

const members = 3;
const kinds = ["task", "errand", "child", "permit", "poll"] as const;
type Kind = (typeof kinds)[number];

export class Delegation implements Scenario {
  readonly files = {};
  readonly #random: Random;
  readonly #sent = new Map<Sent, Kind>();
  /** Who is sent which kind. */
  readonly #sessions = new Map<Kind, SessionId[]>();
  #backlog: Sent[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  async prepare(client: Client): Promise<void> {
    const open = async (handle: string) => {
      const { session } = await client.call("createSession", { body: { agent: "lead", handle } });
      return session.id;
    };
    await open("sink-two");
    const leads = [await open("lead-one"), await open("lead-two")];
    for (const kind of ["task", "errand", "child"] as const) this.#sessions.set(kind, leads);
    // A turn that waits for a person or a group would hold up the others.
    this.#sessions.set("permit", [await open("keeper-one"), await open("keeper-two")]);
    this.#sessions.set("poll", [await open("poll-one")]);
    await client.call("spawnGroup", { path: { group: "poll-one" }, body: { agents: Array(members).fill("noter") } });
  }

  load(client: Client, round: number): Work {
    const fresh = () => {
      const kind = this.#random.pick(kinds);
      const session = this.#random.pick(this.#sessions.get(kind) ?? []);
      const message = freshMessage(session, round, (token) => `${kind} ${token}`, "order");
      this.#sent.set(message, kind);
      return message;
    };
    const isReady = ({ pending }: SessionView) => pending < 2;
    const load = startLoad(client, { writers: 1, fresh, backlog: this.#backlog, isReady });
    return {
      stop: async () => {
        await load.stop();
        const sent = new Set(load.sent);
        for (const message of this.#sent.keys())
          if (message.round === round && !sent.has(message)) this.#sent.delete(message);
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

  async check(events: readonly Event[], project: string): Promise<Checked> {
    const seen = await see(events, project);
    const owed = [...this.#sent].filter(([{ id, acknowledged }]) => acknowledged || seen.admitted.has(id));
    const findings = owed.flatMap(([message, kind]) => {
      const token = /order-\w+/.exec(message.text)?.[0] ?? "";
      const name = `"${message.text}", sent in round ${message.round}`;
      const copies = seen.admitted.get(message.id)?.length ?? 0;
      return [
        ...exactlyOne(copies, `${name}, in the inbox`),
        ...exactlyOne(completed(seen, message.id).length, `the answer to ${name}`),
        ...checks[kind](seen, token, name, message),
      ];
    });
    const count = (kind: Kind) => owed.filter(([, one]) => one === kind).length;
    return {
      findings,
      counts: {
        "tasks with callbacks": count("task") + count("errand"),
        "tries of tasks": events.filter(({ type }) => type === "task.dispatched").length,
        subagents: count("child"),
        "permitted actions": count("permit"),
        "group broadcasts": count("poll"),
      },
    };
  }

  progress(): string {
    return `${this.#sent.size} orders`;
  }
}

type Seen = {
  admitted: Map<string, Message[]>;
  messages: readonly Message[];
  ends: Map<string, TurnEnd[]>;
  /** What was said in each turn, which may have answered several messages. */
  said: Map<string, string[]>;
  events: readonly Event[];
  acts: ReadonlyMap<string, number>;
  payloads: ReturnType<typeof tasksByPayload>;
  taskEnds: Map<string, { callback: string }[]>;
  tries: Map<string, unknown[]>;
  spawned: Map<string, unknown[]>;
  childEnds: Map<string, unknown[]>;
  broadcasts: ReturnType<typeof broadcastsByObjective>;
  replies: Map<string, { status: string }[]>;
  settled: Map<string, unknown[]>;
};

const tasksByPayload = (events: readonly Event[]) =>
  collect(events, ({ type, data }) => (type === "task.enqueued" ? [data.task.payload, data] : null));
const broadcastsByObjective = (events: readonly Event[]) =>
  collect(events, ({ type, data }) => (type === "group.broadcast" ? [data.objective, data] : null));

async function see(events: readonly Event[], project: string): Promise<Seen> {
  const admitted = messagesOf(events);
  const { acts } = await readJournal(project);
  return {
    admitted,
    acts,
    events,
    messages: [...admitted.values()].flat(),
    ends: turnEnds(events),
    said: collect(events, ({ type, data }) => (type === "turn.text" ? [data.turn, data.text] : null)),
    payloads: tasksByPayload(events),
    taskEnds: collect(events, ({ type, data }) => (type === "task.ended" ? [data.task, data] : null)),
    tries: collect(events, ({ type, data }) => (type === "task.dispatched" ? [data.task, data] : null)),
    spawned: collect(events, ({ type, data }) => (type === "subagent.spawned" ? [data.subagent.label, data] : null)),
    childEnds: collect(events, ({ type, data }) => (type === "subagent.ended" ? [data.label, data] : null)),
    broadcasts: broadcastsByObjective(events),
    replies: collect(events, ({ type, data }) => (type === "group.replied" ? [data.broadcast, data] : null)),
    settled: collect(events, ({ type, data }) => (type === "group.settled" ? [data.broadcast, data] : null)),
  };
}

const completed = ({ ends }: Seen, id: string): TurnEnd[] =>
  (ends.get(id) ?? []).filter(({ reason }) => reason === "completed");

/** Messages that were admitted once and answered once. */
function toldOnce(seen: Seen, told: readonly Message[], what: string): Finding[] {
  const [message] = told;
  const once = exactlyOne(told.length, what);
  if (message === undefined || once.length > 0) return once;
  return exactlyOne(completed(seen, message.id).length, `the answer to ${what}`);
}

type Check = (seen: Seen, token: string, name: string, message: Sent) => Finding[];

const checkTask =
  (payloadOf: (token: string) => string): Check =>
  (seen, token, name, { session }) => {
    const tasks = seen.payloads.get(payloadOf(token)) ?? [];
    const id = tasks[0]?.task.id ?? "";
    const told = seen.messages.filter(
      (one) => one.sender.kind === "queue" && one.sender.task === id && one.sender.status !== null,
    );
    const elsewhere = told.filter((one) => one.session !== session).length;
    return [
      ...exactlyOne(tasks.length, `the task of ${name}`),
      ...exactlyOne(seen.taskEnds.get(id)?.length ?? 0, `the end of the task of ${name}`),
      ...toldOnce(seen, told, `the callback of ${name}`),
      ...(elsewhere > 0
        ? [{ kind: "different" as const, what: `the callback of ${name} went to another session` }]
        : []),
    ];
  };

const checks: Record<Kind, Check> = {
  task: checkTask((token) => `note ${token} chore`),

  errand(seen, token, name, message) {
    const payload = token.replace("order-", "act-");
    const findings = checkTask(() => payload)(seen, token, name, message);
    const id = seen.payloads.get(payload)?.[0]?.task.id ?? "";
    const acts = seen.acts.get(payload) ?? 0;
    // A queue with retries tries a task again that a kill cut: never more often than it says.
    const tries = seen.tries.get(id)?.length ?? 0;
    if (acts === 0) findings.push({ kind: "lost", what: `${name} was not acted on by its worker` });
    if (acts > tries) findings.push({ kind: "doubled", what: `${name} was acted on ${acts} times in ${tries} tries` });
    return findings;
  },

  child(seen, token, name, { session }) {
    const told = seen.messages.filter(
      (one) => one.session === session && one.sender.kind === "substrate" && one.body.includes(`"${token}"`),
    );
    return [
      ...exactlyOne(seen.spawned.get(token)?.length ?? 0, `the subagent of ${name}`),
      ...exactlyOne(seen.childEnds.get(token)?.length ?? 0, `the end of the subagent of ${name}`),
      ...toldOnce(seen, told, `the announcement of the subagent of ${name}`),
    ];
  },

  permit(seen, token, name) {
    const handed = seen.messages.filter((one) => one.sender.kind === "agent" && one.body.includes(token));
    const wrong = handed.filter(({ body }) => !body.startsWith("allowed "));
    return [
      ...toldOnce(seen, handed, `the action that ${name} permits`),
      ...wrong.map(({ body }): Finding => ({ kind: "different", what: `${name} led to "${body}"` })),
    ];
  },

  poll(seen, token, name, { id }) {
    const sent = seen.broadcasts.get(`note ${token} polled`) ?? [];
    const broadcast = sent[0];
    const replies = seen.replies.get(broadcast?.broadcast ?? "") ?? [];
    const asked = seen.messages.filter((one) => one.sender.kind === "group" && one.body.includes(token));
    const findings = [
      ...exactlyOne(sent.length, `the broadcast of ${name}`),
      ...exactlyOne(seen.settled.get(broadcast?.broadcast ?? "")?.length ?? 0, `the end of the broadcast of ${name}`),
      ...asked.flatMap((one) =>
        exactlyOne(completed(seen, one.id).length, `the answer of ${one.session} to the broadcast of ${name}`),
      ),
    ];
    for (const [what, count] of [
      ["messages", asked.length],
      ["replies", replies.filter(({ status }) => status === "ok").length],
    ] as const)
      if (count !== members)
        findings.push({ kind: count < members ? "lost" : "doubled", what: `${name}: ${count} ${what} of ${members}` });
    const results = completed(seen, id).map(({ turn }) => {
      const said = seen.said.get(turn)?.join("\n") ?? "";
      return (said.match(new RegExp(`polled of ${token}`, "g")) ?? []).length;
    });
    if (results.some((count) => count < members))
      findings.push({ kind: "lost", what: `the result of ${name} has ${results.join(", ")} replies of ${members}` });
    return findings;
  },
};
