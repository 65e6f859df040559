/** Several nodes on one database under load, while one thing after the other goes wrong. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { Person } from "../asks.ts";
import { type Finding, readAllEvents } from "../check.ts";
import type { Random } from "../random.ts";
import { say } from "../report.ts";
import type { Checked, Scenario } from "../scenario.ts";
import { Counts } from "./counts.ts";
import { anyNode, type ChaosNode, patiently } from "./node.ts";
import { type Window, withoutRefusals } from "./refusals.ts";

const mostBeforeMs = 1_500;
const mostAfterMs = 1_000;

export type RoundsOptions = {
  base: string;
  nodes: readonly ChaosNode[];
  /** Of the checker's own connection. */
  url: () => string;
  scenarios: readonly Scenario[];
  random: Random;
  stopping: AbortSignal;
  /** Lets one thing go wrong, and resolves with its name when it is over. */
  fault: (round: number, client: Client) => Promise<string>;
  /** When the disk of the server was full. */
  fullDisk?: () => readonly Window[];
};

export class ClusterRounds {
  readonly #options: RoundsOptions;
  readonly #person: Person;
  readonly #done = new Map<string, number>();
  readonly #restarted = new Map<string, number>();

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#person = new Person(options.random);
  }

  /** Ends early, with everything counted, when it is told to stop. */
  async run(rounds: number): Promise<Checked & { rounds: number }> {
    const { nodes, scenarios, random, stopping, url } = this.#options;
    const counts = new Counts(url());
    for (const node of nodes) await node.ensure();
    const patient = patiently(nodes, random);
    for (const scenario of scenarios) await scenario.prepare(patient);
    let round = 0;
    while (round < rounds && !stopping.aborted) {
      round += 1;
      await this.#round(round);
      await counts.look();
      if (round % 10 === 0) say(`  round ${round}: ${scenarios.map((one) => one.progress()).join(", ")}`);
    }
    const settled = await this.#settle(patient, counts);
    return { rounds: round, ...settled };
  }

  async #round(round: number): Promise<void> {
    const { nodes, scenarios, random, fault } = this.#options;
    const client = anyNode(nodes, random);
    const loads = scenarios.map((scenario) => scenario.load(client, round));
    const attending = this.#person.attend(client);
    await delay(random.between(0, mostBeforeMs));
    const name = await fault(round, client);
    this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
    await delay(random.between(0, mostAfterMs));
    await Promise.all([...loads, attending].map((load) => load.stop()));
    for (const node of nodes) {
      if (node.isRunning) continue;
      this.#restarted.set(name, (this.#restarted.get(name) ?? 0) + 1);
      await node.ensure();
    }
  }

  /** Lets all nodes finish everything, and reads what they say has happened. */
  async #settle(client: Client, counts: Counts): Promise<Checked> {
    const { scenarios, base } = this.#options;
    const findings: Finding[] = [];
    for (const scenario of scenarios) await scenario.finish(client);
    this.#person.hurry();
    const attending = this.#person.attend(client);
    try {
      for (const scenario of scenarios) await scenario.drained(client);
    } catch (error) {
      findings.push({ kind: "unanswered", what: error instanceof Error ? error.message : String(error) });
    }
    await attending.stop();
    const events = await readAllEvents(client);
    const checked = [this.#person.check(events), await counts.check(events, base)];
    for (const scenario of scenarios) checked.push(await scenario.check(events, base));
    const { standing, refused } = withoutRefusals(
      [...findings, ...checked.flatMap((one) => one.findings)],
      events,
      this.#options.fullDisk?.() ?? [],
    );
    const named = (what: string, tally: ReadonlyMap<string, number>) =>
      Object.fromEntries([...tally].toSorted().map(([name, count]) => [`${what} ${name}`.trim(), count]));
    return {
      findings: standing,
      counts: Object.assign(
        named("×", this.#done),
        named("daemons that ended by themselves:", this.#restarted),
        ...checked.map((one) => one.counts),
        { "effects refused while the disk was full": refused.length },
        { events: events.length },
      ),
    };
  }
}
