import type { UsageReport } from "@aegis/contract/usage.ts";
import type { UsageRequest } from "@aegis/sessions/usage-report.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type UsageServices = {
  usage: (request: UsageRequest) => Promise<UsageReport>;
};

export function usageHandlers({ usage }: UsageServices) {
  return {
    getUsage: async ({ query }) => ({ usage: await usage(query) }),
  } satisfies Partial<Handlers>;
}
