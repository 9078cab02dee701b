import Foundation

/// Decides if requests to an address can't be read on the way. Pure.
enum ConfidentialAddress {
  /// Returns true for HTTPS, and for HTTP to this machine. Addresses with a user name are refused, because it may look
  /// like a host.
  static func accepts(_ url: String) -> Bool {
    guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty, parts.user == nil
    else { return false }
    switch parts.scheme?.lowercased() {
    case "https": return true
    case "http": return ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host.lowercased())
    default: return false
    }
  }
}
