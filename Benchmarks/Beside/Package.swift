// swift-tools-version: 6.2
import PackageDescription

/// The driver of an earlier version. `scripts/bench-disk --beside` copies it with its sources into `Benchmarks/Beside` of a
/// checkout of that version.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "bothy-beside",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "bothy", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .target(name: "Bars", swiftSettings: strict),
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
  ],
  swiftLanguageModes: [.v6]
)
