/**
 * Collects the values that must never be persisted: API keys in the environment and in agents' settings, and Aegis's
 * own tokens.
 */
import type { AgentProfile } from "@aegis/contract/agent.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { clientTokenForm } from "@aegis/lib/client-token.ts";
import { buildRedactor, type Redact, RedactedStream, type Redactor } from "@aegis/lib/redact.ts";
import { sessionTokenForm } from "@aegis/lib/session-token.ts";
import { expandVariables, isKeptSecret, variablesIn } from "@aegis/lib/variables.ts";

const secretName = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

export class Secrets {
  readonly #env: Environment;
  readonly #own = new Set<string>();
  #configured: readonly string[] = [];
  /** Created lazily, because many values may come and go before anything is written. */
  #redactor: Redactor | null = null;

  constructor(env: Environment) {
    this.#env = env;
    for (const value of secretValues(env)) this.#own.add(value);
  }

  /** Redacts all values known at the time of the call. */
  readonly redact: Redact = (text) => this.#current().redact(text);

  /** For text that arrives in chunks. */
  stream(): RedactedStream {
    return new RedactedStream(() => this.#current());
  }

  /** Returns a function that removes the value. */
  add(value: string): () => void {
    this.#own.add(value);
    this.#redactor = null;
    return () => {
      this.#own.delete(value);
      this.#redactor = null;
    };
  }

  setAgents(agents: readonly Pick<AgentProfile, "env">[]): void {
    this.#configured = agents.flatMap(({ env }) => [...secretValues(this.#expanded(env)), ...this.#taken(env)]);
    this.#redactor = null;
  }

  #expanded(env: AgentProfile["env"]): Environment {
    return Object.fromEntries(Object.entries(env).map(([name, text]) => [name, expandVariables(text, this.#env).text]));
  }

  /** The values that an agent's `env` references, regardless of the variable names. */
  #taken(env: AgentProfile["env"]): string[] {
    return variablesIn(env).flatMap((name) => (isKeptSecret(name) ? (this.#env[name] ?? []) : []));
  }

  #current(): Redactor {
    this.#redactor ??= buildRedactor([...this.#own, ...this.#configured], [sessionTokenForm, clientTokenForm]);
    return this.#redactor;
  }
}

function secretValues(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value && secretName.test(name) ? [value] : []));
}
