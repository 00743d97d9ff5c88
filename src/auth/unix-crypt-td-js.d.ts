/** The package has no types of its own. Traditional DES crypt: only the first two characters of `salt` count. */
declare module 'unix-crypt-td-js' {
  function unixCryptTD(password: string | readonly number[], salt: string): string
  export = unixCryptTD
}
