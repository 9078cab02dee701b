public import Foundation

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension ResourceCache {
  @available(*, unavailable, renamed: "data(at:)")
  public func data(for url: URL) async throws -> Data { try await data(at: url) }
  @available(*, unavailable, renamed: "value(_:at:)")
  public func fetch<Value: Decodable & Sendable>(_ type: Value.Type, at url: URL) async throws -> Value {
    try await value(type, at: url)
  }
  @available(*, unavailable, renamed: "removeAll(_:)")
  public func clear() async throws {}
}
