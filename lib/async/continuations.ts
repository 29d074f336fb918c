/** Records the function of torch.run across `await`: what it calls afterwards is recorded like before. */
import { Carrier } from '../lifetimes/carrier';
import { bodyNow, bodyOf, NOTHING, type Recorder, type Recording, recordingNow, switchTo } from '../tensor/pending';

/** A recorder that knows whether its function's code is still recorded. */
interface Body extends Recorder {
  readonly isActive: boolean;
}

const bodies = new Carrier<Body, Recording>('torch.run', {
  taken: () => bodyNow() as Body | null,
  now: recordingNow,
  placeOf: (body) => (body.isActive ? bodyOf(body) : NOTHING),
  switchTo,
  nothing: NOTHING,
});

/** Runs an async function and follows what it calls until it ends, also after its torch.run was aborted. */
export function followed(body: () => Promise<unknown>): Promise<unknown> {
  bodies.follow();
  let made: Promise<unknown>;
  try {
    made = body();
  } catch (error) {
    bodies.unfollow(); // such as a stack overflow
    throw error;
  }
  return bodies.until(made, () => bodies.unfollow()) as Promise<unknown>;
}
