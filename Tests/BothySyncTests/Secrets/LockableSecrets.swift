import BothyStore
import BothyTestSupport

/// Secrets that can't be used while they are locked, like those of a keychain.
final class LockableSecrets: SecretStore {
  let isLocked = Locked(false)
  private let secrets = MemorySecretStore()
  private let act = Locked<(@Sendable () -> Void)?>(nil)

  /// Runs a function once, after a secret was read that a write has replaced.
  func onceKeptIsRead(_ act: @escaping @Sendable () -> Void) { self.act.value = act }

  private func unlocked() throws -> MemorySecretStore {
    if isLocked.value { throw BothyError(.readOnly, "The secrets are locked. Unlock the device.") }
    return secrets
  }

  func secret(_ key: SecretKey) throws -> String? {
    let secret = try unlocked().secret(key)
    if key.field.contains("~") {
      let act = act.change { act in
        defer { act = nil }
        return act
      }
      act?()
    }
    return secret
  }

  func set(_ secret: String?, for key: SecretKey) throws { try unlocked().set(secret, for: key) }
  func keys() throws -> [SecretKey] { try unlocked().keys() }
}
