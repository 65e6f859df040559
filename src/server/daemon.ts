import type { Handlers } from "./adapter.ts";
import { openApiDocument } from "./openapi.ts";
import type { Services } from "./services.ts";

export type DaemonHandlers = Pick<
  Handlers,
  "health" | "openapi" | "status" | "shutdown" | "config" | "reloadConfig" | "listHarnesses"
>;

export function daemonHandlers(services: Services, version: string): DaemonHandlers {
  return {
    health: () => ({ ok: true, name: "aegis" }),
    openapi: () => openApiDocument(version),
    status: () => services.status(),
    shutdown({ body }) {
      services.shutdown(body);
      return { stopping: true };
    },
    config: () => services.config(),
    reloadConfig: () => services.reloadConfig(),
    listHarnesses: async (_request, signal) => ({ harnesses: await services.harnesses(signal) }),
  };
}
