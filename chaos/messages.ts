/** Messages that agents hand on to each other: each is answered once and handed over once. */
import type { Client } from "../src/client/client.ts";
import type { Event } from "../src/contract/event.ts";
import type { SessionId } from "../src/contract/ids.ts";
import { checkHistory, type Finding } from "./check.ts";
import { deliver, type Sent, startLoad } from "./load.ts";
import type { Random } from "./random.ts";
import { type Scenario, until } from "./scenario.ts";

const drainDeadlineMs = 120_000;
const relays = ["relay-one", "relay-two", "relay-three"];

const playbook = `
rules:
  - name: keep what a peer hands over
    from: agent
    when: always
    steps:
      - say: "kept"
  - name: pass on
    when: token
    steps:
      - wait: 3
      - tool: aegis_handoff
        input: { target_handle: sink-one, context: "{text}" }
      - wait: 2
      - say: "passed on"
  - name: anything else
    when: always
    steps:
      - say: "noted"
`;

export class Messages implements Scenario {
  readonly files = { "relay.yaml": playbook };
  readonly #random: Random;
  readonly #writers: number;
  readonly #sent = new Set<Sent>();
  #sessions: SessionId[] = [];
  #backlog: Sent[] = [];

  constructor(random: Random, writers: number) {
    this.#random = random;
    this.#writers = writers;
  }

  async prepare(client: Client): Promise<void> {
    await client.call("createSession", { body: { agent: "relay", handle: "sink-one" } });
    for (const handle of relays) {
      const { session } = await client.call("createSession", { body: { agent: "relay", handle } });
      this.#sessions.push(session.id);
    }
  }

  load(client: Client): { stop(): Promise<void> } {
    const options = { writers: this.#writers, sessions: this.#sessions, random: this.#random, backlog: this.#backlog };
    const load = startLoad(client, options);
    return {
      stop: async () => {
        await load.stop();
        for (const message of load.sent) this.#sent.add(message);
        // Of senders without an answer some send again with the same id, some give up. Both must come out right.
        this.#backlog = load.sent.filter((message) => !message.acknowledged && this.#random.next() < 0.7);
      },
    };
  }

  async finish(client: Client): Promise<void> {
    for (const message of this.#backlog) await deliver(client, message);
  }

  drained(client: Client): Promise<void> {
    return until("the end of all messages", drainDeadlineMs, async () => {
      const status = await client.call("status");
      return status.pending_messages === 0 && status.sessions.working === 0;
    });
  }

  check(events: readonly Event[]): Finding[] {
    return checkHistory([...this.#sent], events);
  }

  progress(): string {
    const acknowledged = [...this.#sent].filter((message) => message.acknowledged).length;
    return `${this.#sent.size} messages (${acknowledged} acknowledged)`;
  }
}
