public import BothyStore

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension Pack {
  @available(*, unavailable, message: "Fetch a query of every record: `fetch(City.all)`.")
  public func fetch<E: Entity>(_ type: E.Type) throws -> [E] { [] }
  @available(*, unavailable, message: "Count a query of every record: `count(City.all)`.")
  public func count<E: Entity>(_ type: E.Type) throws -> Int { 0 }
}
