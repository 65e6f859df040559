/** Messages that agents hand on to each other: each is answered once and handed over once. */
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { checkHistory } from "./check.ts";
import { deliver, freshMessage, type Sent, sentAgain, startLoad } from "./load.ts";
import type { Random } from "./random.ts";
import { type Checked, type Scenario, untilIdle, type Work } from "./scenario.ts";

const relays = ["relay-one", "relay-two", "relay-three"];

export class Messages implements Scenario {
  readonly files = {};
  readonly #random: Random;
  readonly #writers: number;
  readonly #mostPending: number;
  readonly #sent = new Set<Sent>();
  #sessions: SessionId[] = [];
  #backlog: Sent[] = [];

  constructor(random: Random, writers: number, mostPending = Number.POSITIVE_INFINITY) {
    this.#random = random;
    this.#writers = writers;
    this.#mostPending = mostPending;
  }

  async prepare(client: Client): Promise<void> {
    await client.call("createSession", { body: { agent: "relay", handle: "sink-one" } });
    for (const handle of relays) {
      const { session } = await client.call("createSession", { body: { agent: "relay", handle } });
      this.#sessions.push(session.id);
    }
  }

  load(client: Client, round: number): Work {
    const fresh = () => freshMessage(this.#random.pick(this.#sessions), round, (token) => token, "token");
    const most = this.#mostPending;
    const load = startLoad(client, {
      writers: this.#writers,
      fresh,
      backlog: this.#backlog,
      ...(Number.isFinite(most) ? { isReady: ({ pending }) => pending < most } : {}),
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

  async check(events: readonly Event[]): Promise<Checked> {
    return { findings: checkHistory([...this.#sent], events), counts: { "relayed messages": this.#sent.size } };
  }

  progress(): string {
    const acknowledged = [...this.#sent].filter((message) => message.acknowledged).length;
    return `${this.#sent.size} messages (${acknowledged} acknowledged)`;
  }
}
