/** A service that reads digits, built for production: `node main.js --model FILE`. See README.md. */
import { serve } from './serve';

serve(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
