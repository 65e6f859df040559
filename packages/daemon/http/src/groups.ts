import type { Broadcasts } from "@aegis/delegation/groups/broadcasts.ts";
import type { Groups } from "@aegis/delegation/groups/groups.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type GroupServices = {
  groups: Pick<Groups, "list" | "view" | "spawn" | "dissolve">;
  broadcasts: Pick<Broadcasts, "send" | "get" | "wait">;
};

export function groupHandlers({ groups, broadcasts }: GroupServices) {
  return {
    listGroups: async () => ({ groups: await groups.list() }),
    getGroup: async ({ path }) => ({ group: await groups.view(path.group) }),
    spawnGroup: ({ path, body }) => groups.spawn({ ...body, group: path.group }),
    broadcastGroup: async ({ path, body }) => ({
      broadcast: await broadcasts.send({ ...body, group: path.group, sender: { kind: "human" } }),
    }),
    waitGroup: ({ path, body }, signal) => broadcasts.wait({ ...body, group: path.group }, signal),
    dissolveGroup: ({ path }) => groups.dissolve(path.group),
    getBroadcast: ({ path }) => broadcasts.get(path.broadcast),
  } satisfies Partial<Handlers>;
}
