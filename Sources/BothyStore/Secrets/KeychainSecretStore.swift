#if canImport(Security)
  import Foundation
  import Security

  /// Secrets in the keychain, as generic passwords of one service. Readable after the first unlock, on this device
  /// only.
  ///
  /// ```swift
  /// let options = StoreOptions(secrets: KeychainSecretStore(service: "org.example.huts.ada"))
  /// ```
  public struct KeychainSecretStore: SecretStore {
    private let service: String

    /// Creates a store of one service.
    ///
    /// - Parameter service: A name for this database's secrets, such as the app's identifier with the account.
    public init(service: String) { self.service = service }

    /// Returns the value for `key`, or nil. One call of the keychain, which may take milliseconds.
    ///
    /// - Throws: `BothyError` `.readOnly` with the keychain's status, such as before the first unlock.
    public func secret(_ key: SecretKey) throws -> String? {
      var query = item(key)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw Self.error(status) }
      return String(decoding: data, as: UTF8.self)
    }

    /// Stores a value and replaces the one before, or removes it if `secret` is nil. One or two calls of the keychain.
    ///
    /// - Throws: `BothyError` `.readOnly` with the keychain's status. Unlock the device and write again.
    public func set(_ secret: String?, for key: SecretKey) throws {
      guard let secret else {
        let status = SecItemDelete(item(key) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.error(status) }
        return
      }
      let value = [kSecValueData as String: Data(secret.utf8)]
      let status = SecItemUpdate(item(key) as CFDictionary, value as CFDictionary)
      if status == errSecSuccess { return }
      guard status == errSecItemNotFound else { throw Self.error(status) }
      var query = item(key)
      query[kSecValueData as String] = Data(secret.utf8)
      query[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      let added = SecItemAdd(query as CFDictionary, nil)
      guard added == errSecSuccess else { throw Self.error(added) }
    }

    /// Returns the keys of all values of the service, in any order.
    ///
    /// Passwords of the service with other names are ignored. One call of the keychain for all.
    ///
    /// - Throws: `BothyError` `.readOnly` with the keychain's status.
    public func keys() throws -> [SecretKey] {
      let query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecReturnAttributes as String: true, kSecMatchLimit as String: kSecMatchLimitAll,
      ]
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return [] }
      guard status == errSecSuccess, let items = found as? [[String: Any]] else { throw Self.error(status) }
      return items.compactMap { item in
        guard let account = item[kSecAttrAccount as String] as? String,
          let parts = (try? JSONValue(parsing: account))?.arrayValue?.compactMap(\.stringValue),
          parts.count == 3
        else { return nil }  // Another app's password.
        return SecretKey(RecordID(type: parts[0], id: parts[1]), field: parts[2])
      }
    }

    private func item(_ key: SecretKey) -> [String: Any] {
      let account: JSONValue = [.string(key.record.type), .string(key.record.id), .string(key.field)]
      return [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecAttrAccount as String: account.canonicalText,
      ]
    }

    private static func error(_ status: OSStatus) -> BothyError {
      BothyError(
        .readOnly, "The keychain refused a secret (status \(status)). Unlock the device and try again.")
    }
  }
#endif
