/**
 * Identifies clients: programs that use Aegis over MCP. A client either keeps a random credential, of which Aegis stores
 * the hash, or was started by a command of the user, which derived a credential from the daemon's token.
 */
import type { Client } from "@aegis/contract/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { nameInDerivedToken, randomClientToken } from "@aegis/lib/client-token.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import type { ClientRow, Store, StoreTx } from "@aegis/store/store.ts";

export type ClientsOptions = { store: Store; clock: Pick<Clock, "now">; log: Logger };

/** The time of the last use is stored to this precision, so that a busy client does not cause a write per request. */
const usedPrecisionMs = 60_000;

export class Clients {
  readonly #options: ClientsOptions;
  readonly #byHash = new Map<string, ClientRow>();
  #daemonToken: string | null = null;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  async load(): Promise<void> {
    const rows = await this.#options.store.read.clients.list();
    this.#byHash.clear();
    for (const row of rows) this.#byHash.set(row.token_hash, row);
  }

  /** Follows the changes that other nodes make, so that a revoked credential opens no node. Returns its undo. */
  follow(): () => void {
    const { store, log } = this.#options;
    let loading = Promise.resolve();
    const load = () =>
      this.load().catch((error: unknown) => {
        // A credential that may be revoked opens nothing.
        this.#byHash.clear();
        log.error("the clients could not be read; their credentials are refused", { error: errorText(error) });
      });
    // One after the other: an older answer must not replace a newer one.
    const reload = () => {
      loading = loading.then(load);
    };
    return store.onCommit(reload, ["client.changed"], "others");
  }

  /** Accepts credentials that are derived from the daemon's token. */
  deriveFrom(daemonToken: string): void {
    this.#daemonToken = daemonToken;
  }

  /** The client that the token belongs to, or null. Looking up the hash prevents a timing attack on the token. */
  nameOf(token: string): string | null {
    const row = this.#byHash.get(textDigest(token));
    if (row !== undefined) {
      this.#used(row);
      return row.name;
    }
    return this.#daemonToken === null ? null : nameInDerivedToken(this.#daemonToken, token);
  }

  list(): Client[] {
    return [...this.#byHash.values()].map(publicClient).sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Issues a credential. Throws `conflict` if the name has one. */
  async add(name: string): Promise<{ client: Client; token: string }> {
    const token = randomClientToken();
    const row: ClientRow = {
      name,
      token_hash: textDigest(token),
      created_at: this.#options.clock.now(),
      last_used_at: null,
    };
    await this.#options.store.transact(async (tx) => {
      await tx.clients.insert(row);
      await this.#changed(tx, name, "added");
    });
    this.#byHash.set(row.token_hash, row);
    return { client: publicClient(row), token };
  }

  /** Revokes the credential: the next request with it is refused. */
  async remove(name: string): Promise<Client> {
    const row = [...this.#byHash.values()].find((one) => one.name === name);
    if (row === undefined) {
      const names = this.list().map((client) => client.name);
      const hint = names.length === 0 ? "no client has a credential" : `clients: ${names.join(", ")}`;
      throw new AegisError("not_found", `no client "${name}"${didYouMean(name, names)}`, { hint });
    }
    await this.#options.store.transact(async (tx) => {
      await tx.clients.remove(name);
      await this.#changed(tx, name, "revoked");
    });
    this.#byHash.delete(row.token_hash);
    return publicClient(row);
  }

  async #changed(tx: StoreTx, client: string, state: "added" | "revoked"): Promise<void> {
    const data = { client, state };
    await tx.events.append({ type: "client.changed", session: null, data }, this.#options.clock.now());
  }

  #used(row: ClientRow): void {
    const now = this.#options.clock.now();
    if (row.last_used_at !== null && now - row.last_used_at < usedPrecisionMs) return;
    row.last_used_at = now;
    this.#options.store
      .transact((tx) => tx.clients.used(row.name, now))
      .catch((error: unknown) => {
        this.#options.log.warn("the use of a client's credential was not recorded", { error: errorText(error) });
      });
  }
}

function publicClient({ name, created_at, last_used_at }: ClientRow): Client {
  return { name, created_at, last_used_at };
}
