// swift-tools-version: 6.2
import PackageDescription

/// The benchmarks, apart from the product: `scripts/bench` builds and runs them.
///
/// They use the library products only, never the umbrella with its macros, so swift-syntax is not built.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "bothy-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "bothy", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    .target(
      name: "CFloor", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")]),
    .target(name: "Bars", swiftSettings: strict),
    .target(
      name: "CDisk", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")]),
    .executableTarget(
      name: "DiskBenchmarks",
      dependencies: [
        "Bars", "CDisk",
        .product(name: "BothyCache", package: "bothy"),
        .product(name: "BothyGeo", package: "bothy"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "BesideDriver",
      dependencies: [
        "Bars",
        .product(name: "BothyCache", package: "bothy"),
        .product(name: "BothyGeo", package: "bothy"),
        .product(name: "BothyStore", package: "bothy"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: strict),
    .target(
      name: "CSpatial", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")]),
    .executableTarget(
      name: "GeoBenchmarks",
      dependencies: [
        "Bars", "CSpatial",
        .product(name: "BothyGeo", package: "bothy"),
        .product(name: "BothyStore", package: "bothy"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "SettingsBenchmarks",
      dependencies: [
        "Bars",
        .product(name: "BothySettings", package: "bothy"),
        .product(name: "BothyStore", package: "bothy"),
      ],
      swiftSettings: strict),
    .executableTarget(name: "ScalingSimulation", dependencies: ["Bars"], swiftSettings: strict),
    .executableTarget(
      name: "PackBenchmarks",
      dependencies: [
        "Bars",
        .product(name: "BothyPacks", package: "bothy"),
        .product(name: "BothyStore", package: "bothy"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "BothyBenchmarks",
      dependencies: [
        "Bars", "CFloor",
        .product(name: "BothyStore", package: "bothy"),
        .product(name: "BothySync", package: "bothy"),
        .product(name: "BothySyncService", package: "bothy"),
        .product(name: "BothyHTTP", package: "bothy"),
        .product(name: "BothyServer", package: "bothy"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
