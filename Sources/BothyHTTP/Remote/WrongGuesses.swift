public import Foundation

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension BothyRemote {
  @available(*, unavailable, message: "Give the address as a text: `url: url.absoluteString`.")
  public init(url: URL, space: String, token: @escaping @Sendable () async throws -> String? = { nil }) {
    self.init(url: url.absoluteString, space: space, token: token)
  }
  @available(*, unavailable, message: "Give a closure, which can renew the token: `token: { … }`.")
  public init(url: String, space: String, token: String) {
    self.init(url: url, space: space, token: { token })
  }
}
