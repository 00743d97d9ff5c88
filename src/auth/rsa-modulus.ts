/** The primes whose remainders identify keys of the weak generator (CVE-2017-15361). */
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113,
  127, 131, 137, 139, 149, 151, 157, 163, 167,
]
const GENERATOR = 65537

/**
 * Whether a modulus has the ROCA fingerprint: it is a power of 65537 modulo every small prime, which holds for one in
 * 2^27 other keys. Such keys can be factored.
 */
export function isRocaWeak(modulus: bigint): boolean {
  return PRIMES.every(prime => isPower(Number(modulus % BigInt(prime)), prime))
}

/** Whether `value` is a power of the generator modulo `prime`. */
function isPower(value: number, prime: number): boolean {
  let power = 1
  do {
    if (power === value) return true
    power = (power * GENERATOR) % prime
  } while (power !== 1)
  return false
}

/** Whether a small prime divides it, so that it is not a product of two large ones. */
export function hasSmallFactor(modulus: bigint): boolean {
  return modulus % 2n === 0n || PRIMES.some(prime => modulus % BigInt(prime) === 0n)
}
