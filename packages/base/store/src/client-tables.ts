/** The table of clients, part of the store port. */
import type { Client } from "@aegis/contract/client.ts";

export type ClientRow = Client & { token_hash: string };

export interface ClientReads {
  /** By name. */
  list(): Promise<ClientRow[]>;
}

export interface ClientTable extends ClientReads {
  /** Throws `conflict` if the name has a credential. */
  insert(row: ClientRow): Promise<void>;
  used(name: string, at: number): Promise<void>;
  remove(name: string): Promise<void>;
}
