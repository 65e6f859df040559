/** The part of Trusted Types that the app uses; TypeScript's DOM library does not have it. */
interface Window {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(input: string): string },
    ): { createScriptURL(input: string): string };
  };
}
