/** Places for packages in a folder of one test. */
import { join } from "node:path";
import type { Place } from "@aegis/installer/place.ts";

export function testPlaces(dir: string): Record<Place["scope"], Place> {
  const place = (scope: Place["scope"], root: string): Place => ({
    scope,
    root,
    base: ".aegis",
    installs: join(root, "installs"),
    exclusively: (work) => work(),
    signer: { sign: () => "", verifies: () => true },
    seal: async () => {},
  });
  return { project: place("project", dir), user: place("user", join(dir, "home")) };
}
