import BothyStore
import BothyTestSupport

/// Secrets that can't be used while they are locked, like those of a keychain.
final class LockableSecrets: SecretStore {
  let isLocked = Locked(false)
  private let secrets = MemorySecretStore()

  private func unlocked() throws -> MemorySecretStore {
    if isLocked.value { throw BothyError(.readOnly, "The secrets are locked. Unlock the device.") }
    return secrets
  }

  func secret(_ key: SecretKey) throws -> String? { try unlocked().secret(key) }
  func set(_ secret: String?, for key: SecretKey) throws { try unlocked().set(secret, for: key) }
  func keys() throws -> [SecretKey] { try unlocked().keys() }
}
