/** Several nodes on one database under load, while one thing after the other goes wrong. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { Person } from "../asks.ts";
import { type Finding, readAllEvents } from "../check.ts";
import type { Random } from "../random.ts";
import { say } from "../report.ts";
import type { Checked, Scenario } from "../scenario.ts";
import { Counts } from "./counts.ts";
import { Endings } from "./endings.ts";
import { anyNode, type ChaosNode, patiently } from "./node.ts";
import type { Pulse } from "./pulse.ts";
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
  /** When the disk of the server or of a node was full. */
  fullDisk?: () => readonly Window[];
  /** What it measured while nodes failed. */
  pulse?: Pulse;
};

export class ClusterRounds {
  readonly #options: RoundsOptions;
  readonly #person: Person;
  readonly #done = new Map<string, number>();
  readonly #endings = new Endings();

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
    const { nodes, scenarios, random, fault, pulse } = this.#options;
    const client = anyNode(nodes, random);
    const loads = scenarios.map((scenario) => scenario.load(client, round));
    const attending = this.#person.attend(client);
    const before = () => delay(random.between(0, mostBeforeMs));
    await (pulse === undefined ? before() : pulse.beforehand(nodes, before));
    const name = await fault(round, client);
    this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
    await delay(random.between(0, mostAfterMs));
    await Promise.all([...loads, attending].map((load) => load.stop()));
    await this.#noteEndings(name);
    for (const node of nodes) await node.ensure();
  }

  async #noteEndings(during: string): Promise<void> {
    for (const node of this.#options.nodes)
      for (const how of node.takeEndings()) await this.#endings.add(node, during, how);
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
    await this.#noteEndings("the last checks");
    const checked = [this.#person.check(events), await counts.check(events, base), this.#endings.check()];
    if (this.#options.pulse !== undefined) checked.push(this.#options.pulse.check());
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
        ...checked.map((one) => one.counts),
        { "effects refused while the disk was full": refused.length },
        { events: events.length },
      ),
    };
  }
}
