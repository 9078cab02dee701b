import Synchronization

/// Stores the secrets of one write just before its commit. A write that fails puts back the ones that they replaced.
///
/// If the process ends in between, the replaced secrets are lost, and the change of the new ones was not made.
final class SecretReplacement: Sendable {
  private let store: any SecretStore
  private let replaced = Mutex<[(key: SecretKey, secret: String?)]>([])

  init(in store: any SecretStore) { self.store = store }

  func set(_ secrets: [SecretKey: String]) throws {
    for (key, secret) in secrets {
      // An unreadable value, such as one of a damaged file, can't be put back.
      if case .success(let old) = Result(catching: { try store.secret(key) }) {
        replaced.withLock { $0.append((key, old)) }
      }
      try store.set(secret, for: key)
    }
  }

  func putBack() {
    for (key, secret) in replaced.withLock({ $0 }) {
      try? store.set(secret, for: key)  // A store that refuses it keeps the newer value.
    }
  }
}
