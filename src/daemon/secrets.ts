/** Which values must never be written down: keys in the environment, in agents' settings, and Aegis's own tokens. */
import type { AgentProfile } from "../contract/agent.ts";
import { createRedactor, type Redact } from "../lib/redact.ts";
import { sessionTokenPattern } from "../plane/credentials.ts";

const secretName = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

export class Secrets {
  readonly #own = new Set<string>();
  #configured: readonly string[] = [];
  /** Made when it is asked for: many values may come and go before anything is written. */
  #redact: Redact | null = null;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    for (const value of secretValues(env)) this.#own.add(value);
  }

  /** Redacts everything known now. */
  get redact(): Redact {
    this.#redact ??= this.#build();
    return this.#redact;
  }

  /** Returns its undo. */
  add(value: string): () => void {
    this.#own.add(value);
    this.#redact = null;
    return () => {
      this.#own.delete(value);
      this.#redact = null;
    };
  }

  setAgents(agents: readonly Pick<AgentProfile, "env">[]): void {
    this.#configured = agents.flatMap((agent) => secretValues(agent.env));
    this.#redact = null;
  }

  #build(): Redact {
    const values = [...this.#own, ...this.#configured];
    // A value with quotes or backslashes looks different inside JSON.
    const quoted = values.map((value) => JSON.stringify(value).slice(1, -1));
    return createRedactor([...values, ...quoted], [sessionTokenPattern]);
  }
}

function secretValues(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value && secretName.test(name) ? [value] : []));
}
