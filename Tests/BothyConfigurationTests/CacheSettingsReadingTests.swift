import BothyCache
import BothyConfiguration
import Configuration
import Foundation
import Testing

@Suite("Settings from where apps store them", .timeLimit(.minutes(5)))
struct CacheSettingsReadingTests {
  /// User defaults and a property list of one test, which are deleted with this instance.
  private final class PlaceStore {
    let name = "bothy.tests." + UUID().uuidString
    let file: URL
    let defaults: UserDefaults

    init(_ list: [String: any Sendable]) throws {
      file = FileManager.default.temporaryDirectory.appending(path: name + ".plist")
      defaults = UserDefaults(suiteName: name) ?? .standard
      try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(to: file)
    }

    deinit {
      defaults.removePersistentDomain(forName: name)
      try? FileManager.default.removeItem(at: file)
    }
  }

  /// Promises: R-18
  @Test("Code wins over stored defaults, these over the property list, that over registered defaults")
  func precedence() throws {
    let key = CacheSettings.Key.memoryBytes
    let places = try PlaceStore([key.rawValue: 2000, "bothy": ["cache": ["disk": ["count": 7]]]])
    func read(_ explicit: [CacheSettings.Key: CacheSettings.Value] = [:], list: Bool = true) -> CacheSettings
    {
      CacheSettings.reading(
        explicit: explicit, stored: places.defaults, propertyList: list ? places.file : nil,
        registered: CacheSettings(memory: MemoryLimits(bytes: 1000))
      ).settings
    }
    #expect(read(list: false).memory.bytes == 1000)
    #expect(read().memory.bytes == 2000)
    #expect(read().disk.count == 7)
    places.defaults.set(3000, forKey: key.rawValue)
    #expect(read().memory.bytes == 3000)
    #expect(read([key: .number(4000)]).memory.bytes == 4000)
  }

  /// Promises: R-18
  @Test("A setting with an invalid value is reported, and the next place counts")
  func invalid() throws {
    let places = try PlaceStore([
      "bothy.cache.memory.bytes": 5000, "bothy.cache.memory.order": "firstIn", "bothy.cache.disk.count": 0,
    ])
    places.defaults.set("plenty", forKey: "bothy.cache.memory.bytes")
    places.defaults.set(7, forKey: "bothy.cache.memory.order")
    places.defaults.set("-1", forKey: "bothy.cache.decoded.bytes")
    let (settings, problems) = CacheSettings.reading(stored: places.defaults, propertyList: places.file)
    #expect(settings.memory.bytes == 5000 && settings.memory.order == .firstIn)
    #expect(settings.disk.count == CacheSettings().disk.count)
    #expect(settings.decodedBytes == CacheSettings().decodedBytes)
    #expect(
      Set(problems.map(\.key)) == [
        "bothy.cache.memory.bytes", "bothy.cache.memory.order", "bothy.cache.decoded.bytes",
        "bothy.cache.disk.count",
      ])
    #expect(problems.allSatisfy { !$0.reason.isEmpty })
  }

  @Test("A missing property list is reported and has no other effect")
  func noFile() throws {
    let places = try PlaceStore([:])
    let missing = places.file.appendingPathExtension("not")
    let (settings, problems) = CacheSettings.reading(stored: places.defaults, propertyList: missing)
    #expect(settings == CacheSettings() && problems.map(\.key) == ["*"])
  }

  @Test("A property list without a dictionary is reported and has no other effect") func array() throws {
    let places = try PlaceStore([:])
    try PropertyListSerialization.data(
      fromPropertyList: [["bothy.cache.memory.bytes": 5000]], format: .xml, options: 0
    ).write(to: places.file)
    let (settings, problems) = CacheSettings.reading(stored: places.defaults, propertyList: places.file)
    #expect(settings == CacheSettings())
    #expect(problems.map(\.key) == ["*"] && problems.first?.reason.contains("no dictionary") == true)
  }

  @Test("Any provider of swift-configuration can supply settings")
  func providers() throws {
    let environment = EnvironmentVariablesProvider(environmentVariables: ["BOTHY_CACHE_DISK_BYTES": "123456"])
    #expect(CacheSettings.reading(from: [environment]).settings.disk.bytes == 123_456)
    let places = try PlaceStore([:])
    places.defaults.set(88, forKey: "bothy.cache.decoded.bytes")
    let reader = ConfigReader(provider: UserDefaultsProvider(places.defaults))
    #expect(reader.int(forKey: "bothy.cache.decoded.bytes") == 88)
  }
}
