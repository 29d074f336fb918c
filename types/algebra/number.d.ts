/** Arithmetic on dimensions: exact for literals, `number` where one is not. Digits are added as on paper. */
type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9';
/** A number's digits, the last one first. */
type Digits = Digit[];

/** Row + column: tens and units. The last row is for 9 and a carry. */
type Plus = [
  ['00', '01', '02', '03', '04', '05', '06', '07', '08', '09'],
  ['01', '02', '03', '04', '05', '06', '07', '08', '09', '10'],
  ['02', '03', '04', '05', '06', '07', '08', '09', '10', '11'],
  ['03', '04', '05', '06', '07', '08', '09', '10', '11', '12'],
  ['04', '05', '06', '07', '08', '09', '10', '11', '12', '13'],
  ['05', '06', '07', '08', '09', '10', '11', '12', '13', '14'],
  ['06', '07', '08', '09', '10', '11', '12', '13', '14', '15'],
  ['07', '08', '09', '10', '11', '12', '13', '14', '15', '16'],
  ['08', '09', '10', '11', '12', '13', '14', '15', '16', '17'],
  ['09', '10', '11', '12', '13', '14', '15', '16', '17', '18'],
  ['10', '11', '12', '13', '14', '15', '16', '17', '18', '19'],
];
/** Row × column. */
type Times = [
  ['00', '00', '00', '00', '00', '00', '00', '00', '00', '00'],
  ['00', '01', '02', '03', '04', '05', '06', '07', '08', '09'],
  ['00', '02', '04', '06', '08', '10', '12', '14', '16', '18'],
  ['00', '03', '06', '09', '12', '15', '18', '21', '24', '27'],
  ['00', '04', '08', '12', '16', '20', '24', '28', '32', '36'],
  ['00', '05', '10', '15', '20', '25', '30', '35', '40', '45'],
  ['00', '06', '12', '18', '24', '30', '36', '42', '48', '54'],
  ['00', '07', '14', '21', '28', '35', '42', '49', '56', '63'],
  ['00', '08', '16', '24', '32', '40', '48', '56', '64', '72'],
  ['00', '09', '18', '27', '36', '45', '54', '63', '72', '81'],
];
/** Row − column, and 1 before it where a ten was borrowed. The last column is for 9 and a borrowed one. */
type Minus = [
  ['00', '19', '18', '17', '16', '15', '14', '13', '12', '11', '10'],
  ['01', '00', '19', '18', '17', '16', '15', '14', '13', '12', '11'],
  ['02', '01', '00', '19', '18', '17', '16', '15', '14', '13', '12'],
  ['03', '02', '01', '00', '19', '18', '17', '16', '15', '14', '13'],
  ['04', '03', '02', '01', '00', '19', '18', '17', '16', '15', '14'],
  ['05', '04', '03', '02', '01', '00', '19', '18', '17', '16', '15'],
  ['06', '05', '04', '03', '02', '01', '00', '19', '18', '17', '16'],
  ['07', '06', '05', '04', '03', '02', '01', '00', '19', '18', '17'],
  ['08', '07', '06', '05', '04', '03', '02', '01', '00', '19', '18'],
  ['09', '08', '07', '06', '05', '04', '03', '02', '01', '00', '19'],
];
type Next = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'];

/** The row or column of a digit and a carry. */
type WithCarry<D extends Digit, Carry> = Carry extends '1' ? Next[D] : D;

type Reversed<Text extends string, R extends Digits = []> = Text extends `${infer D extends Digit}${infer Rest}`
  ? Reversed<Rest, [D, ...R]>
  : R;

type Written<D extends Digits, Text extends string = ''> = D extends [
  infer Last extends Digit,
  ...infer Rest extends Digits,
]
  ? Written<Rest, `${Last}${Text}`>
  : Text;

/** "007" is "7". */
type Trimmed<Text extends string> = Text extends `0${infer Rest}` ? (Rest extends '' ? '0' : Trimmed<Rest>) : Text;

type ToNumber<Text extends string> = Text extends string
  ? Trimmed<Text> extends `${infer N extends number}`
    ? N
    : number
  : never;

type Added<A extends Digits, B extends Digits, Carry = '0', Text extends string = ''> = A extends [
  infer X extends Digit,
  ...infer AR extends Digits,
]
  ? B extends [infer Y extends Digit, ...infer BR extends Digits]
    ? Plus[WithCarry<X, Carry> & keyof Plus][Y] extends `${infer C extends Digit}${infer U extends Digit}`
      ? Added<AR, BR, C, `${U}${Text}`>
      : never
    : Carry extends '1'
      ? Added<A, ['1'], '0', Text>
      : `${Written<A>}${Text}`
  : B extends [Digit, ...Digits]
    ? Added<B, A, Carry, Text>
    : Carry extends '1'
      ? `1${Text}`
      : Text;

/** A number times one digit. */
type Scaled<A extends Digits, D extends Digit, Carry extends Digit = '0', Text extends string = ''> = A extends [
  infer X extends Digit,
  ...infer Rest extends Digits,
]
  ? Times[X][D] extends `${infer T extends Digit}${infer U extends Digit}`
    ? Plus[U][Carry] extends `${infer C}${infer V extends Digit}`
      ? Scaled<Rest, D, WithCarry<T, C> & Digit, `${V}${Text}`>
      : never
    : never
  : Carry extends '0'
    ? Text
    : `${Carry}${Text}`;

type Multiplied<A extends Digits, B extends Digits, Zeros extends string = '', Text extends string = '0'> = B extends [
  infer D extends Digit,
  ...infer Rest extends Digits,
]
  ? Multiplied<A, Rest, `${Zeros}0`, Added<Reversed<`${Scaled<A, D>}${Zeros}`>, Reversed<Text>>>
  : Text;

/** never where B is the greater. */
type Subtracted<A extends Digits, B extends Digits, Borrow = '0', Text extends string = ''> = A extends [
  infer X extends Digit,
  ...infer AR extends Digits,
]
  ? B extends [infer Y extends Digit, ...infer BR extends Digits]
    ? Minus[X][WithCarry<Y, Borrow> & keyof Minus[0]] extends `${infer C extends Digit}${infer U extends Digit}`
      ? Subtracted<AR, BR, C, `${U}${Text}`>
      : never
    : Borrow extends '1'
      ? Subtracted<A, ['1'], '0', Text>
      : `${Written<A>}${Text}`
  : B extends [Digit, ...Digits]
    ? never
    : Borrow extends '1'
      ? never
      : Text;

/** How often `By` fits into `Left`, less than ten times, and what remains. */
type Fits<Left extends string, By extends Digits, Count extends Digit = '0'> = [
  Subtracted<Reversed<Left>, By>,
] extends [never]
  ? [Count, Left]
  : Fits<Trimmed<Subtracted<Reversed<Left>, By>>, By, Next[Count] & Digit>;

/** Long division: quotient and remainder. */
type Divided<
  Text extends string,
  By extends Digits,
  Left extends string = '0',
  Q extends string = '',
> = Text extends `${infer D extends Digit}${infer Rest}`
  ? Fits<Trimmed<`${Left}${D}`>, By> extends [infer Count extends Digit, infer Remainder extends string]
    ? Divided<Rest, By, Remainder, `${Q}${Count}`>
    : never
  : [Q, Left];

/** Exact for literals, and for type parameters as soon as they are known; `number` where either is. */
export type Sum<A extends number, B extends number> = number extends A
  ? number
  : number extends B
    ? number
    : ToNumber<Added<Reversed<`${A}`>, Reversed<`${B}`>>>;

/** A − B; never where B is the greater. */
export type Difference<A extends number, B extends number> = number extends A
  ? number
  : number extends B
    ? number
    : ToNumber<Subtracted<Reversed<`${A}`>, Reversed<`${B}`>>>;

export type Product<A extends number, B extends number> = A extends 1
  ? B
  : B extends 1
    ? A
    : number extends A
      ? number
      : number extends B
        ? number
        : ToNumber<Multiplied<Reversed<`${A}`>, Reversed<`${B}`>>>;

/** A / B without its remainder; `number` for 0. */
export type Quotient<A extends number, B extends number> = B extends 1
  ? A
  : number extends A
    ? number
    : B extends 0
      ? number
      : number extends B
        ? number
        : ToNumber<Divided<`${A}`, Reversed<`${B}`>>[0]>;

/** The remainder of A / B; `number` for 0. */
export type Remainder<A extends number, B extends number> = B extends 1
  ? 0
  : number extends A
    ? number
    : B extends 0
      ? number
      : number extends B
        ? number
        : ToNumber<Divided<`${A}`, Reversed<`${B}`>>[1]>;

/** A / B rounded up. */
export type QuotientUp<A extends number, B extends number> =
  Remainder<A, B> extends 0 ? Quotient<A, B> : Sum<Quotient<A, B>, 1>;

/** The smaller and the greater of two. */
export type Least<A extends number, B extends number> = [Difference<A, B>] extends [never] ? A : B;
export type Most<A extends number, B extends number> = [Difference<A, B>] extends [never] ? B : A;

/** The product of all dimensions. */
export type ProductOf<S extends readonly number[], P extends number = 1> = S extends readonly [
  infer Head extends number,
  ...infer Rest extends readonly number[],
]
  ? ProductOf<Rest, Product<P, Head>>
  : S extends readonly []
    ? P
    : number;

export {};
