/** The classes of codegen/spec/classes: Generator and ScriptModule. */
import { NativeObject } from './object';
import { callObject, construct } from './runtime';
import { makeClasses } from './wrappers';

export const classes = makeClasses({ NativeObject, construct, callObject });
