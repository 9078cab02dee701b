// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// MARK: what is built

/// True in this repository's scripts and checks, which set the variable: warnings are errors, and tests, examples and
/// drivers are there. An app that depends on the package leaves it out.
let isDevelopment = Context.environment["BOTHY_DEVELOPMENT"] != nil
/// True with the server, the tool `bothy`, the inspector and PostgreSQL. An app leaves it out and resolves none of what
/// they depend on. To embed `BothyServer` or to build the tool, set `BOTHY_SERVER=1`.
let hasServer = isDevelopment || Context.environment["BOTHY_SERVER"] != nil
/// True where URLSession isn't used. Set `BOTHY_ASYNC_HTTP_CLIENT=1` to compile for Linux on a Mac.
#if os(Linux)
  let hasAsyncHTTPClient = true
#else
  let hasAsyncHTTPClient = Context.environment["BOTHY_ASYNC_HTTP_CLIENT"] != nil
#endif

/// Every target is compiled in the Swift 6 language mode. Warnings are errors in development only: Xcode and the
/// `swiftbuild` build system pass `-suppress-warnings` to dependencies, which conflicts with `-warnings-as-errors`.
var strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
if isDevelopment { strict.append(.treatAllWarnings(as: .error)) }

/// The privacy manifest of a target: the system interfaces that it uses, and the reasons. It is a resource on Apple's
/// platforms alone, so that programs on Linux have no bundle.
#if canImport(Darwin)
  let (privacy, noPrivacy): ([Resource], [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
  let (privacy, noPrivacy): ([Resource], [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let onLinux = TargetDependencyCondition.when(platforms: [.linux])
let asyncHTTPClient: [Target.Dependency] =
  !hasAsyncHTTPClient
  ? []
  : [
    .product(name: "AsyncHTTPClient", package: "async-http-client", condition: onLinux),
    .product(name: "NIOCore", package: "swift-nio", condition: onLinux),
    .product(name: "NIOHTTP1", package: "swift-nio", condition: onLinux),
    .product(name: "NIOPosix", package: "swift-nio", condition: onLinux),
    .product(name: "NIOHTTPCompression", package: "swift-nio-extras", condition: onLinux),
  ]

// MARK: what apps build

let package = Package(
  name: "bothy",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Bothy", targets: ["Bothy"]),
    .library(name: "BothyStore", targets: ["BothyStore"]),
    .library(name: "BothySync", targets: ["BothySync"]),
    .library(name: "BothyProtocol", targets: ["BothyProtocol"]),
    .library(name: "BothySyncService", targets: ["BothySyncService"]),
    .library(name: "BothyCache", targets: ["BothyCache"]),
    .library(name: "BothyGeo", targets: ["BothyGeo"]),
    .library(name: "BothySettings", targets: ["BothySettings"]),
    .library(name: "BothyPacks", targets: ["BothyPacks"]),
    .library(name: "BothyConfiguration", targets: ["BothyConfiguration"]),
    .library(name: "BothyHTTP", targets: ["BothyHTTP"]),
    .library(name: "BothyKinto", targets: ["BothyKinto"]),
    .library(name: "BothyLegacy", targets: ["BothyLegacy"]),
    .library(name: "BothyTesting", targets: ["BothyTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.0"..<"605.0.0"),
  ],
  targets: [
    .target(name: "BothyCore", dependencies: ["CBothyZlib"], swiftSettings: strict),
    .target(
      name: "BothyStore", dependencies: ["BothyCore", grdb, sqlite, log, "CBothySQLite"], exclude: noPrivacy,
      resources: privacy, swiftSettings: strict),
    .target(
      name: "BothyProtocol", dependencies: ["BothyStore", .product(name: "Crypto", package: "swift-crypto")],
      exclude: noPrivacy, resources: privacy, swiftSettings: strict),
    .target(
      name: "BothySync",
      dependencies: [
        "BothyStore", "BothyProtocol", grdb, log, .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .target(
      name: "BothySyncService",
      dependencies: [
        "BothyStore", "BothyProtocol", grdb, log, .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .target(
      name: "BothyCache",
      dependencies: [
        "BothyStore", grdb, sqlite, httpTypes, log,
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      exclude: noPrivacy, resources: privacy, swiftSettings: strict),
    .target(
      name: "BothyGeo", dependencies: ["BothyStore", "BothyCache", grdb, httpTypes], exclude: noPrivacy,
      resources: privacy, swiftSettings: strict),
    .target(name: "BothySettings", dependencies: ["BothyCore", "BothyStore", grdb], swiftSettings: strict),
    .target(
      name: "BothyPacks",
      dependencies: ["BothyStore", "BothyCache", grdb, .product(name: "Crypto", package: "swift-crypto")],
      exclude: noPrivacy, resources: privacy, swiftSettings: strict),
    .target(
      name: "BothyConfiguration",
      dependencies: ["BothyCache", .product(name: "Configuration", package: "swift-configuration")],
      exclude: noPrivacy, resources: privacy, swiftSettings: strict),
    .target(
      name: "BothyHTTP",
      dependencies: ["BothyStore", "BothySync", "BothyCache", httpTypes, log] + asyncHTTPClient,
      swiftSettings: strict),
    .target(
      name: "BothyKinto", dependencies: ["BothyStore", "BothySync", "BothyHTTP", httpTypes, log],
      swiftSettings: strict),
    .target(
      name: "BothyLegacy", dependencies: ["BothyStore", "BothySync", "BothyCache"],
      swiftSettings: strict),
    .target(name: "CBothyZlib", linkerSettings: [.linkedLibrary("z")]),
    .target(name: "CBothySQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .macro(
      name: "BothyMacros",
      dependencies: [
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
      ],
      swiftSettings: strict),
    .target(
      name: "BothyUI", dependencies: ["BothyStore", "BothySettings", "BothySync", "BothyHTTP"],
      swiftSettings: strict),
    .target(
      name: "Bothy",
      dependencies: [
        "BothyStore", "BothyProtocol", "BothySettings", "BothySync", "BothyHTTP", "BothyUI",
        "BothyMacros",
      ],
      swiftSettings: strict),
    .target(
      name: "BothyTesting", dependencies: ["BothyStore", "BothySync", "BothySyncService"],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

if hasAsyncHTTPClient || hasServer {
  package.dependencies += [.package(url: "https://github.com/apple/swift-nio", from: "2.101.2")]
}
if hasAsyncHTTPClient {
  package.dependencies += [
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ]
}

// MARK: the server and the tool

if hasServer {
  package.products += [
    .library(name: "BothyServer", targets: ["BothyServer"]),
    .library(name: "BothyPostgres", targets: ["BothyPostgres"]),
    .executable(name: "bothy", targets: ["BothyTool"]),
  ]
  package.dependencies += [
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  ]
  package.targets += [
    .systemLibrary(
      name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "BothyPostgres", dependencies: ["BothyStore", "BothySyncService", "CPostgres"],
      swiftSettings: strict),
    .target(
      name: "BothyServer",
      dependencies: [
        "BothyStore", "BothySyncService", "BothyCache", "BothyGeo", httpTypes, log, lifecycle,
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "JWTKit", package: "jwt-kit"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: strict),
    .target(
      name: "BothyInspector",
      dependencies: [
        "BothyStore", "BothySettings", "BothyPacks", "BothySync", "BothyCache", "BothyGeo", httpTypes, log,
        lifecycle,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      resources: [.embedInCode("Page")], swiftSettings: strict),
    .executableTarget(
      name: "BothyTool",
      dependencies: [
        "BothyStore", "BothySettings", "BothyPacks", "BothySync", "BothySyncService", "BothyCache",
        "BothyGeo", "BothyHTTP", "BothyKinto", "BothyLegacy",
        "BothyServer", "BothyInspector", "BothyPostgres", httpTypes, log,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        lifecycle,
      ],
      swiftSettings: strict),
  ]
}

// MARK: tests, examples and drivers

if isDevelopment {
  package.targets += [
    .executableTarget(
      name: "CacheStoreDriver", dependencies: ["BothyCache", httpTypes], path: "Tests/CacheStoreDriver",
      swiftSettings: strict),
    .executableTarget(
      name: "TileDriver", dependencies: ["BothyGeo"], path: "Tests/TileDriver", swiftSettings: strict),
    .executableTarget(
      name: "SettingsDriver", dependencies: ["BothyStore", "BothySettings"], path: "Tests/SettingsDriver",
      swiftSettings: strict),
    .executableTarget(
      name: "SoakDriver",
      dependencies: [
        "BothyStore", "BothySync", "BothyHTTP", log,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tools/soak", swiftSettings: strict),
    .executableTarget(
      name: "TripPlanner", dependencies: ["Bothy"], path: "Examples/TripPlanner", exclude: ["README.md"],
      swiftSettings: strict),
    .executableTarget(
      name: "SettingsPair", dependencies: ["Bothy"], path: "Examples/SettingsPair", exclude: ["README.md"],
      swiftSettings: strict),
    .executableTarget(
      name: "PrayerTimes", dependencies: ["Bothy", "BothyPacks"], path: "Examples/PrayerTimes",
      exclude: ["README.md", "Data"],
      swiftSettings: strict),
    .executableTarget(
      name: "Hike", dependencies: ["Bothy", "BothyGeo"], path: "Examples/Hike",
      exclude: ["README.md", "Data"], swiftSettings: strict),
    .target(
      name: "BothyTestSupport", dependencies: ["BothyStore", log], path: "Tests/BothyTestSupport",
      swiftSettings: strict),
    .testTarget(
      name: "BothyStoreTests", dependencies: ["BothyStore", "BothyTestSupport", grdb], swiftSettings: strict),
    .testTarget(
      name: "BothyUITests",
      dependencies: [
        "BothyStore", "BothySettings", "BothySync", "BothyUI", "BothyTesting", "BothyTestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothySettingsTests",
      dependencies: [
        "BothyStore", "BothySettings", "BothySync", "BothyUI", "BothyTesting", "BothyTestSupport", grdb,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyPacksTests",
      dependencies: ["BothyStore", "BothyCache", "BothyPacks", "BothyTestSupport", grdb, httpTypes],
      swiftSettings: strict),
    .testTarget(
      name: "BothySyncTests",
      dependencies: [
        "BothyStore", "BothySync", "BothyLegacy", "BothySyncService", "BothyPostgres", "BothyTesting",
        "BothyTestSupport", grdb, sqlite,
        log,
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "StorageDriver", dependencies: ["BothyStore", "BothySync", "BothySyncService", "BothyPostgres"],
      path: "Tests/StorageDriver", swiftSettings: strict),
    .testTarget(
      name: "BothyServerStorageTests",
      dependencies: [
        "BothyStore", "BothySync", "BothySyncService", "BothyPostgres", "BothyTesting", "BothyTestSupport",
        grdb,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyCacheTests",
      dependencies: ["BothyStore", "BothyCache", "BothyTesting", "BothyTestSupport", httpTypes],
      swiftSettings: strict),
    .testTarget(
      name: "BothyGeoTests",
      dependencies: [
        "BothyStore", "BothyCache", "BothyGeo", "BothyHTTP", "BothyTesting", "BothyTestSupport", grdb,
        httpTypes,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyLegacyTests",
      dependencies: ["BothyStore", "BothySync", "BothyCache", "BothyLegacy", "BothyTestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "BothyConfigurationTests",
      dependencies: [
        "BothyCache", "BothyConfiguration",
        .product(name: "Configuration", package: "swift-configuration"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyHTTPTests",
      dependencies: [
        "BothyStore", "BothySync", "BothySyncService", "BothyCache", "BothyHTTP", "BothyKinto", "BothyLegacy",
        "BothyServer", "BothyTesting", "BothyTestSupport", httpTypes, log,
        lifecycle,
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyServerTests",
      dependencies: [
        "BothyStore", "BothySync", "BothySyncService", "BothyCache", "BothyGeo", "BothyServer",
        "BothyPostgres", "BothyTesting", "BothyTestSupport",
        httpTypes, log,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "JWTKit", package: "jwt-kit"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), lifecycle,
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BothyInspectorTests",
      dependencies: [
        "BothyStore", "BothySettings", "BothyPacks", "BothySync", "BothySyncService", "BothyCache",
        "BothyGeo", "BothyInspector",
        "BothyTesting", "BothyTestSupport", httpTypes, log,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ReadmeTests", dependencies: ["Bothy", "BothySyncService", "BothyTesting"], swiftSettings: strict),
    .testTarget(name: "BothyTests", dependencies: ["Bothy", "BothyTesting"], swiftSettings: strict),
    .testTarget(
      name: "BothyMacrosTests",
      dependencies: [
        "BothyMacros",
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
      ],
      swiftSettings: strict),
  ]
}

// A quick round builds the named targets and what they depend on: `BOTHY_TARGETS=BothyStoreTests swift test`.
if let names = Context.environment["BOTHY_TARGETS"]?.split(separator: ",").map(String.init) {
  var needed: Set<String> = []
  var open = names
  while let name = open.popLast() {
    guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
      continue
    }
    for dependency in target.dependencies {
      if case .byNameItem(let name, _) = dependency { open.append(name) }
    }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products.removeAll { product in
    guard let library = product as? Product.Library else { return true }
    return !library.targets.allSatisfy(needed.contains)
  }
}

// A test of a macro makes SwiftPM build all tests, and all that they depend on, a second time for the compiler's machine.
// `scripts/test` runs these apart: `BOTHY_TARGETS=BothyMacrosTests swift test`.
if Context.environment["BOTHY_TARGETS"] == nil {
  package.targets.removeAll { $0.name == "BothyMacrosTests" }
}
