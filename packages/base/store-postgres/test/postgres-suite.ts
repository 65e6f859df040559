/** The store suite on a PostgreSQL server, each case with a schema of its own. */
import type { Store } from "@aegis/store/store.ts";
import type { OpenProject } from "@aegis/test/helpers/on-postgres.ts";
import { storeSuite } from "@aegis/test/suites/store-suite.ts";

export function postgresStoreSuite(open: OpenProject, name: string): void {
  let projects = 0;
  storeSuite(
    name,
    async () => {
      projects += 1;
      const project = projects;
      const stores: Store[] = [];
      const another = async () => {
        const store = await open(project);
        stores.push(store);
        return store;
      };
      return {
        store: await another(),
        another,
        async dispose() {
          for (const store of stores) await store.close();
        },
      };
    },
    { writers: "several" },
  );
}
