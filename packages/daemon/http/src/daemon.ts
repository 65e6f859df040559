import type { ApiOutput, Harness, Status } from "@aegis/contract/api.ts";
import type { Audit } from "@aegis/contract/audit.ts";
import { openApiDocument } from "@aegis/contract/openapi.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type DaemonServices = {
  status(): Promise<Status>;
  harnesses(signal: AbortSignal): Promise<Harness[]>;
  audit(): Promise<Audit>;
  config(): Promise<ApiOutput<"config">>;
  reloadConfig(): Promise<ApiOutput<"reloadConfig">>;
  /** Whether all parts of plugins are registered, and when they are. */
  ready: { readonly isReached: boolean; readonly reached: Promise<void> };
  /** Begins to stop; returns before the daemon is gone. */
  shutdown(options: { force: boolean }): void;
};

export function daemonHandlers(services: DaemonServices, version: string) {
  return {
    health: () => ({ ok: true, name: "aegis" }),
    openapi: () => openApiDocument(version),
    status: () => services.status(),
    audit: async () => ({ audit: await services.audit() }),
    shutdown({ body }) {
      services.shutdown(body);
      return { stopping: true };
    },
    config: () => services.config(),
    reloadConfig: () => services.reloadConfig(),
    listHarnesses: async (_request, signal) => ({ harnesses: await services.harnesses(signal) }),
  } satisfies Partial<Handlers>;
}
