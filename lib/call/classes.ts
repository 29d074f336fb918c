/** The classes of codegen/spec/classes: Generator and ScriptModule. */

import { makeClasses } from '../addon/wrappers';
import { NativeObject } from './object';
import { callObject, construct } from './runtime';

export const classes = makeClasses({ NativeObject, construct, callObject });
