import BothyConfiguration
import Foundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The URL cache that the app shares", .serialized, .timeLimit(.minutes(5)))
struct URLCacheControlTests {
  /// Promises: R-17
  @Test("Switching off empties the shared URL cache, and switching on restores its capacity")
  func switching() throws {
    let name = "bothy.tests." + UUID().uuidString
    let defaults = try #require(UserDefaults(suiteName: name))
    defer { defaults.removePersistentDomain(forName: name) }
    let before = URLCache.shared.memoryCapacity
    URLCacheControl.apply(defaults)
    #expect(URLCache.shared.memoryCapacity == before && before > 0)
    #expect(!URLCacheControl.isDisabled(in: defaults))
    URLCacheControl.setDisabled(true, in: defaults)
    URLCacheControl.setDisabled(true, in: defaults)
    #expect(URLCache.shared.memoryCapacity == 0)
    #expect(defaults.bool(forKey: "kRMDisableGlobalURLCache"))
    URLCacheControl.setDisabled(false, in: defaults)
    #expect(URLCache.shared.memoryCapacity == before)
  }
}
