import Foundation

/// Minutes that a suite over random histories may take: thirty, and a second for each history of `BOTHY_SEEDS`. Two busy
/// cores take about five for those that run by default.
let minutesForSeeds = 30 + (ProcessInfo.processInfo.environment["BOTHY_SEEDS"].flatMap { Int($0) } ?? 0) / 60
